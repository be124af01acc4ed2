// One attempt at something outside: it is over in time, or when it is called off, and nothing of it stays open.

/** To end with; else each attempt would make an error of its own. */
const over = new Error('over')

/** Why an attempt ended without an answer. */
type Ended = { kind: 'failed'; error: 'no answer in time' | 'called off' }

/**
 * Answers what `run` answers, or why it had to end. Its signal falls when the attempt is over, however it went.
 * Not AbortSignal.any over AbortSignal.timeout: Node may collect those while they are waited for, and then nothing ends.
 */
export async function attempt<T>(
  timeoutMs: number,
  stop: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T | Ended> {
  if (stop.aborted) return { kind: 'failed', error: 'called off' }
  let why: Ended['error'] | null = null
  const ending = new AbortController()
  const end = (error: Ended['error']) => {
    why ??= error
    ending.abort(new Error(error))
  }
  const callOff = () => end('called off')
  const timer = setTimeout(end, timeoutMs, 'no answer in time')
  stop.addEventListener('abort', callOff)
  try {
    return await run(ending.signal)
  } catch (error) {
    if (why !== null) return { kind: 'failed', error: why }
    throw error
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', callOff)
    ending.abort(over)
  }
}
