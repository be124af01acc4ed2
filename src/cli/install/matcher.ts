// Which tools a matcher leaves out, as Claude Code and Codex read it: nothing or a star is all, plain names are a list, anything
// else is a regular expression that may fit anywhere.

/** One of each kind there is, and one that nobody has yet. */
const examples = [
  'Bash',
  'Write',
  'Edit',
  'Read',
  'WebFetch',
  'Task',
  'apply_patch',
  'mcp__github__create_issue',
  'ToolOfTomorrow',
]

/** Null: it leaves out none. */
export function leftOut(matcher: unknown): string | null {
  if (matcher === undefined || matcher === '' || matcher === '*') return null
  if (typeof matcher !== 'string') return 'any'
  const missed = examples.filter((tool) => !fits(matcher, tool))
  return missed.length === 0 ? null : missed.slice(0, 3).join(', ')
}

function fits(matcher: string, tool: string): boolean {
  if (/^[\w\-, |]+$/.test(matcher)) return matcher.split(/[|,]/).some((name) => name.trim() === tool)
  try {
    return new RegExp(matcher).test(tool)
  } catch {
    return false
  }
}
