// What --print shows, held against the schemas of the hosts: the parts of them that matter here, in our own words.
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { prepareInstaller } from './installer.js'

const ajv = new Ajv({ strict: true, allowUnionTypes: true })
const text = { type: 'string', minLength: 1 }
const seconds = { type: 'number', exclusiveMinimum: 0 }

/** Of a closed object: these members, and of them these needed. */
const closed = (properties: object, required: string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

/** The SchemaStore's claude-code-settings.json, whose hooks know no other members than these. */
const publishedCommand = {
  type: { const: 'command' },
  command: text,
  timeout: seconds,
  async: { type: 'boolean' },
  asyncRewake: { type: 'boolean' },
  shell: { enum: ['bash', 'powershell'] },
  if: { type: 'string' },
  statusMessage: { type: 'string' },
  args: { type: 'array', items: { type: 'string' } },
}
/** It is older than Claude Code 2.1.295, which added this to hooks of type command and http. */
const failureSwitch = { onFailure: { enum: ['block', 'continue'] } }

const claudeSettings = (command: object) => {
  const group = closed(
    { matcher: { type: 'string' }, hooks: { type: 'array', items: closed(command, ['type', 'command']) } },
    ['hooks'],
  )
  const groups = { type: 'array', items: group }
  return {
    type: 'object',
    properties: { hooks: closed({ PreToolUse: groups, PostToolUse: groups, PostToolUseFailure: groups }, []) },
  }
}

/** As codex-rs reads hooks.json: these events, and handlers with these members. */
const codexHandler = {
  type: { const: 'command' },
  command: text,
  timeout: { type: 'integer', minimum: 1 },
  async: { type: 'boolean' },
  statusMessage: { type: 'string' },
}
const codexGroups = {
  type: 'array',
  items: closed(
    { matcher: { type: 'string' }, hooks: { type: 'array', items: closed(codexHandler, ['type', 'command']) } },
    ['hooks'],
  ),
}
const codexHooks = closed({ hooks: closed({ PreToolUse: codexGroups, PostToolUse: codexGroups }, []) }, ['hooks'])

/** As Hermes reads `hooks:` of config.yaml: a timeout beyond 300 is cut, and fail_closed is for the call alone. */
const hermesEntry = (more: object) => ({
  type: 'array',
  items: closed({ matcher: text, command: text, timeout: { type: 'integer', minimum: 1, maximum: 300 }, ...more }, [
    'command',
  ]),
})
const hermesConfig = closed(
  {
    hooks: closed(
      { pre_tool_call: hermesEntry({ fail_closed: { type: 'boolean' } }), post_tool_call: hermesEntry({}) },
      [],
    ),
  },
  ['hooks'],
)

/** As OpenClaw's documents have `plugins`; of an entry's config, what our manifest describes. */
const openclawConfig = closed(
  {
    plugins: closed(
      {
        enabled: { type: 'boolean' },
        allow: { type: 'array', items: text },
        deny: { type: 'array', items: text },
        load: closed({ paths: { type: 'array', items: text } }, []),
        entries: {
          type: 'object',
          additionalProperties: closed(
            {
              enabled: { type: 'boolean' },
              config: closed({ url: text, keyFile: text }, []),
              hooks: closed(
                {
                  timeoutMs: { type: 'integer', minimum: 1, maximum: 600_000 },
                  timeouts: { type: 'object', additionalProperties: { type: 'integer', minimum: 1, maximum: 600_000 } },
                },
                [],
              ),
            },
            [],
          ),
        },
      },
      [],
    ),
  },
  ['plugins'],
)

const mcpServers = closed(
  {
    mcpServers: {
      type: 'object',
      additionalProperties: closed({ command: text, args: { type: 'array', items: { type: 'string' } } }, ['command']),
    },
  },
  ['mcpServers'],
)

t.test('what --print shows of each host is valid for that host', async (t) => {
  const { install } = await prepareInstaller(t)
  const schemas = {
    'claude-code': claudeSettings({ ...publishedCommand, ...failureSwitch }),
    codex: codexHooks,
    hermes: hermesConfig,
    openclaw: openclawConfig,
    mcp: mcpServers,
  }
  for (const [host, schema] of Object.entries(schemas)) {
    const { stdout } = await install(host, '--print')
    const validate = ajv.compile(schema)
    validate(host === 'hermes' ? parse(stdout) : JSON.parse(stdout))
    t.same(validate.errors, null, host)
    const { settings } = JSON.parse((await install(host, '--print', '--json')).stdout)
    t.ok(validate(settings), `${host}, as --json has it`)
  }
})

t.test('but for the switch that closes it, it is valid for the schema as it is published, too', async (t) => {
  const { install } = await prepareInstaller(t)
  const settings = JSON.parse((await install('claude-code', '--print')).stdout)
  const validate = ajv.compile(claudeSettings(publishedCommand))
  t.notOk(validate(settings), 'the schema does not know it')
  delete settings.hooks.PreToolUse[0].hooks[0].onFailure
  validate(settings)
  t.same(validate.errors, null)
})

t.test('each switch that closes a host is on', async (t) => {
  const { install } = await prepareInstaller(t)
  const print = async (host: string) => (await install(host, '--print')).stdout
  const claude = JSON.parse(await print('claude-code')).hooks.PreToolUse
  t.match(claude, [
    {
      matcher: '*',
      hooks: [
        { timeout: 600, onFailure: 'block', command: / --timeout 600 \|\| \{ echo 'Not approved\.' >&2; exit 2; \}$/ },
      ],
    },
  ])
  t.match(parse(await print('hermes')).hooks.pre_tool_call, [
    { fail_closed: true, timeout: 300, command: /^\/bin\/sh -c '.* --timeout 300 \|\| .*exit 2; }'$/ },
  ])
  // Codex runs the shell of its user, who may have one that reads no braces.
  t.match(JSON.parse(await print('codex')).hooks.PreToolUse, [
    { matcher: '*', hooks: [{ timeout: 600, command: /^\/bin\/sh -c '.* --timeout 600 \|\| .*exit 2; }'$/ }] },
  ])
  const { plugins } = JSON.parse(await print('openclaw'))
  t.match(plugins.entries.holdpoint, { enabled: true, hooks: { timeouts: { before_tool_call: 600_000 } } })
})
