// What is used here of OpenClaw's plugin API; the host's package is too large to depend on for this.

export interface Api {
  /** `plugins.entries.holdpoint.config`. */
  pluginConfig?: Record<string, unknown> | undefined
  /** The host's whole configuration. */
  config?: unknown
  logger?: { warn?: (message: string) => void } | undefined
  on(hook: 'before_tool_call', handler: BeforeToolCall, options?: HookOptions): void
  on(hook: 'after_tool_call', handler: AfterToolCall, options?: HookOptions): void
}

export interface HookOptions {
  /** The highest first. */
  priority?: number
  /** Beyond it the host blocks the call and goes on; the handler is not told. */
  timeoutMs?: number
}

/** What throws, and what is not back in time, blocks the call. Nothing, or no `block: true`, lets it run. */
export type BeforeToolCall = (event: ToolCall, context?: ToolContext) => Promise<BeforeToolCallResult>
export type AfterToolCall = (event: ToolOutcome, context?: ToolContext) => Promise<void>

export interface ToolCall {
  toolName: string
  params: Record<string, unknown>
  runId?: string | undefined
  toolCallId?: string | undefined
}

export interface ToolOutcome extends ToolCall {
  /** With neither of them nobody knows how it went. */
  result?: unknown
  error?: string | undefined
}

export interface ToolContext {
  sessionKey?: string | undefined
  sessionId?: string | undefined
  runId?: string | undefined
  abortSignal?: AbortSignal | undefined
}

export interface BeforeToolCallResult {
  block?: boolean
  blockReason?: string
  /** What the tool is called with; the last handler's count. */
  params?: Record<string, unknown>
}
