// presets/coding-agents.yaml: it loads without a doubt, passes the tools it names, and holds whatever only looks like one.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { checkRules, explainAction } from '../../src/cli/policy-report.js'
import { readRules } from '../../src/policy/file.js'
import { createPolicy, type Policy } from '../../src/policy/policy.js'
import { highRiskActions } from '../../src/policy/risk.js'

const file = fileURLToPath(new URL('../../../presets/coding-agents.yaml', import.meta.url))
const text = readFileSync(file, 'utf8')
const read = readRules(text)
if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
const policy: Policy = createPolicy(
  read.rules,
  { rate: { max: 10, windowMs: 3_600_000, isPerRequester: true } },
  read.sessions,
)

const input = {
  tool_input: { file_path: '/project/a.ts', path: '/project/a.ts', command: 'git status' },
  cwd: '/project',
}
const govern = (action: string, details: object = input) => policy.govern(action, JSON.stringify(details))
const isRefused = (action: string) => policy.isUnclear(action)

t.test('it has no mistakes, and the check has no doubts', async (t) => {
  const { ok, data } = checkRules(text, file)
  t.ok(ok)
  t.same(data.warnings, [])
})

t.test('tools that only read pass, with their rule on record', async (t) => {
  const tools: [string, string[]][] = [
    ['reading in Claude Code', ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead', 'TodoWrite', 'BashOutput', 'TaskList']],
    ['reading in Codex and Hermes', ['read_file', 'list_dir', 'search_files', 'update_plan', 'todo']],
    ['reading in OpenClaw', ['read']],
  ]
  for (const [rule, names] of tools) {
    for (const name of names) {
      t.match(govern(`tool:${name}`), { passes: true, terms: { rule, risk: 'low' } }, name)
      t.match(explainAction(policy, `tool:${name}`, JSON.stringify(input)), 'It passes: nobody is asked.', name)
    }
  }
})

t.test('every other tool is held, whatever its input says', async (t) => {
  const tools = [
    ...['Bash', 'Write', 'Edit', 'MultiEdit', 'NotebookEdit', 'WebFetch', 'WebSearch', 'Task', 'Agent', 'Skill'],
    ...[
      'SlashCommand',
      'KillShell',
      'TaskStop',
      'ExitPlanMode',
      'LSP',
      'PowerShell',
      'Monitor',
      'CronCreate',
      'Workflow',
    ],
    ...['ReadMcpResourceTool', 'ListMcpResourcesTool', 'ToolSearch', 'SendMessage'],
    ...['shell', 'exec_command', 'apply_patch', 'web_search', 'spawn_agent', 'js_repl'],
    ...[
      'terminal',
      'process',
      'write_file',
      'patch',
      'execute_code',
      'delegate_task',
      'memory',
      'skill_view',
      'web_extract',
    ],
    ...[
      'exec',
      'write',
      'edit',
      'web_fetch',
      'message',
      'cron',
      'gateway',
      'sessions_spawn',
      'session_status',
      'browser',
    ],
    ...['mcp__github__create_issue', 'mcp__x__Read', 'mcp__Read', 'mcp__filesystem__read_file', 'something_new'],
  ]
  for (const name of tools) t.match(govern(`tool:${name}`), { passes: false, terms: { rule: 'tool calls' } }, name)
})

t.test('a name that only looks like one that passes is held or refused', async (t) => {
  const held = [
    'tool:READ',
    'TOOL:Read',
    'Tool:Read',
    'tool:_Read',
    'tool:Read_',
    'tool::Read',
    'tool/Read',
    'tool.Read',
  ]
  held.push('_tool:Read', 'tool:Read:', 'tool:Read/Bash', 'tool:Re_ad', 'tool:ReadX', 'tool:XRead', 'tool:Rea', 'tool:')
  held.push('tool:glob', 'tool:Read_File', 'tool:ReadFile', 'tool:readfile', 'tool:todowrite', 'tool:Todo', 'tool:1s')
  held.push('Read', 'read', 'read_file', 'mcp:Read', 'atool:Read', 'tool:tool:Read', 'tool:mcp__x__Read')
  for (const action of held) t.notOk(govern(action).passes, action)
  const odd = [
    'tool:Read ',
    ' tool:Read',
    'tool:Read\n',
    'tool:Read\u0000',
    'tool:Re\u0430d',
    'tool:\u211eead',
    'tool:R\u0435ad',
  ]
  odd.push(
    'tool:Read\u200b',
    'tool:Re\u00adad',
    'tool:\u202edaeR',
    'tool\uff1aRead',
    'tool:Read\u0301',
    'tool:Read;Bash',
  )
  odd.push('tool:Ｒead', 'tool:Read?', 'tool:*', 'tool:Read,tool:Bash')
  for (const action of odd) {
    t.ok(isRefused(action), `${JSON.stringify(action)} is refused`)
    t.notOk(govern(action).passes, JSON.stringify(action))
  }
})

t.test('the lower-case read passes with what OpenClaw gives it, and with nothing else', async (t) => {
  t.ok(govern('tool:read', { tool_input: { path: 'README.md' } }).passes)
  for (const details of [
    {},
    { path: 'x' },
    { tool_input: { file_path: 'x' } },
    { tool_input: ['path'] },
    { tool_input: 'path' },
  ]) {
    t.notOk(govern('tool:read', details).passes, JSON.stringify(details))
  }
})

t.test('high-risk actions are as strict as ever', async (t) => {
  for (const action of highRiskActions) {
    t.match(govern(action), { passes: false, terms: { rule: 'high risk', risk: 'high', mayWhitelist: false } }, action)
  }
})

t.test(
  'what is held is told of once, waits longer than a hook, and has room for a session of tool calls',
  async (t) => {
    const { terms, limits } = govern('tool:Bash')
    t.match(terms, { approvals: 1, mayWhitelist: false, allowsOwn: false })
    t.match(limits, {
      mergesIdentical: true,
      denialHoldsMs: 600_000,
      breaker: { fixationAt: 0, waitAt: 6, suspendAt: 9 },
    })
    t.ok(limits.timeout.default > 600)
    t.match(limits.rate, { max: 600, windowMs: 3_600_000, isPerRequester: true })
    t.match(govern('send_mail').limits.rate, { max: 10 }, 'what is no tool call is as it is built in')
    t.equal(policy.resetRuleFor(null, null).maxMessages, 0)
  },
)
