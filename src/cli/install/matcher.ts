// Which matchers surely fit every tool, also one that nobody has yet: of all others somebody would have to guess.

/** `others`: what the host takes for all besides. */
export function fitsAll(matcher: unknown, others: string[] = []): boolean {
  return matcher === undefined || ['', '.*', '.+', '^.*$', '^.+$', ...others].includes(matcher as string)
}

/** Claude Code and Codex look for a regular expression anywhere in the name. */
export function problemsWithMatcher(matcher: unknown): string[] {
  if (fitsAll(matcher, ['*', '.'])) return []
  return [`its matcher, ${JSON.stringify(matcher)}, may leave out tools; make it "*"`]
}
