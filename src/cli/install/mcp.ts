// Any client of MCP that reads `.mcp.json` in a project. A model may leave a tool alone, so this asks and cannot close.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Access, type Host, type Inspection, isObject, type Scope } from './host.js'
import { put, readJson, remove } from './json-text.js'
import { inspectSettings } from './settings-file.js'
import { shellText, valueOf } from './words.js'

const notClosed =
  'An MCP server is not closed: a model may act without calling its tools. A hook in the host is what stops a call.'
const name = 'holdpoint'

export const mcp: Host = {
  name: 'mcp',
  title: 'MCP',
  what: 'server',
  scopes: ['project'],
  open: notClosed,
  settings: ({ machine, project }) => join(project ?? machine.cwd, '.mcp.json'),
  show(scope, access) {
    const server = wanted(scope, access)
    const data = { mcpServers: { [name]: server } }
    const line = shellText(['claude', 'mcp', 'add-json', '--scope', 'user', name, JSON.stringify(server)])
    return { text: JSON.stringify(data, null, 2), data, hint: `For every project of Claude Code: ${line}` }
  },
  merge(text, scope, access) {
    const server = wanted(scope, access)
    return isDeepStrictEqual(standing(text), server) ? text : put(text, ['mcpServers', name], server)
  },
  remove: (text) => (isOurs(standing(text)) ? remove(text, ['mcpServers', name]) : text),
  installed(text) {
    const server = standing(text)
    if (!isOurs(server)) return null
    const [url, keyFile] = [valueOf(server.args, 'url'), valueOf(server.args, 'key-file')]
    return url === undefined || keyFile === undefined ? null : { url, keyFile }
  },
  next: () => ['Begin the session anew, and let it use the server once it asks.'],
  inspect,
}

interface Server {
  command: string
  args: string[]
}

function wanted({ machine }: Scope, { url, keyFile }: Access): Server {
  const [command = '', ...before] = machine.program
  return { command, args: [...before, 'mcp', '--url', url, '--key-file', keyFile] }
}

function standing(text: string): unknown {
  const settings = readJson(text)
  const servers = isObject(settings) ? settings.mcpServers : undefined
  return isObject(servers) ? servers[name] : undefined
}

function isOurs(server: unknown): server is Server {
  if (!isObject(server) || !Array.isArray(server.args)) return false
  return server.args.includes('mcp') && server.args.includes('--key-file')
}

function inspect(scope: Scope): Inspection {
  const file = mcp.settings(scope)
  const found: Inspection = { files: [file], hooks: [], problems: [], notes: [] }
  if (!existsSync(file)) return { ...found, files: [] }
  const access = inspectSettings(file, mcp.installed)
  if ('problem' in access) return { ...found, problems: [access.problem] }
  if (access.said === null) return found
  return { ...found, hooks: [{ file, isShared: true, attempt: null, ...access.said, problems: [], faults: [] }] }
}
