// For how many seconds each host waits for its hook: where its settings say nothing, and at most.

export const waits = {
  'claude-code': { usual: 600, most: 86_400 },
  codex: { usual: 600, most: 86_400 },
  hermes: { usual: 60, most: 300 },
  generic: { usual: 600, most: 86_400 },
}
export type HostName = keyof typeof waits
