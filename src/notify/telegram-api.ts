// One call to Telegram's Bot API, and what its answer means.
import { judgeRefusal, type NotSent, post, wordsOf } from './http.js'

export interface TelegramAccess {
  botToken: string
  apiBase: string
  /** How long an answer may take. */
  timeoutMs: number
}

export type Called =
  | { kind: 'done'; result: unknown }
  | {
      kind: 'not done'
      outcome: NotSent
      /** Null: there was no answer. */
      status: number | null
      /** The group became a supergroup, and this is its id now. */
      movedTo: string | null
    }

export interface TelegramApi {
  /** `waitMs`: for how long Telegram was asked to hold the answer back. */
  call(method: string, body: object, stop: AbortSignal, waitMs?: number): Promise<Called>
}

/** The chat of the settings. */
export interface Home {
  /** Something about it: whatever its id is by now stands in the body. */
  call(method: string, body: object, stop: AbortSignal): Promise<Called>
  /** Whether a chat that Telegram names is it. */
  isIt(chat: Record<string, unknown>): boolean
  /** Telegram says that it has this id from now on. */
  moveTo(chat: string): void
  /** Whether it is somebody's chat with the bot alone, by its id. */
  isPrivate(): boolean
  /** Its id by now, where that is another than the settings say; else null. */
  movedTo(): string | null
}

export function createTelegramApi({ botToken, apiBase, timeoutMs }: TelegramAccess): TelegramApi {
  return {
    async call(method, body, stop, waitMs = 0) {
      const answer = await post(`${apiBase}/bot${botToken}/${method}`, body, {}, timeoutMs + waitMs, stop)
      if ('kind' in answer) return { kind: 'not done', outcome: answer, status: null, movedTo: null }
      const { status, body: said } = answer
      if (status === 200 && said.ok === true) return { kind: 'done', result: said.result }
      const { retry_after: retryAfter, migrate_to_chat_id: movedTo } = objectOf(said.parameters)
      const seconds = Number(retryAfter ?? NaN)
      const pauseMs = Number.isFinite(seconds) ? seconds * 1000 : null
      const outcome = judgeRefusal(answer, pauseMs, wordsOf(said.description, botToken))
      return { kind: 'not done', outcome, status, movedTo: idOf(movedTo) }
    },
  }
}

/** The id of a chat or of somebody, as text; null if it is none. Telegram's fit into 52 bits. */
export function idOf(value: unknown): string | null {
  return Number.isSafeInteger(value) && value !== 0 ? String(value) : null
}

/** What is in it, if it is an object. */
export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
