// ntfy: one message to a topic, with a link to the page. Nothing is ever heard from it.

export interface NtfySettings {
  url: string
  topic: string
  token: string | null
  /** How long an answer may take. */
  timeoutMs: number
}
