// Slack: blocks with buttons, by a bot; presses come in through Socket Mode.

export interface SlackSettings {
  botToken: string
  /** For Socket Mode; null: no presses. */
  appToken: string | null
  channelId: string
  apiBase: string
  /** How long an answer may take. */
  timeoutMs: number
}
