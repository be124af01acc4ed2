// What is odd about a request, for the person who decides and for the agent: said in the same words everywhere.

/** As it stood when it was submitted; 0: nothing to say. */
export interface Caution {
  /** So many before it, in the same session and in a row, were denied or expired. */
  failures: number
  /** It is the so manieth for the same action in a row, each with other details. */
  repeats: number
}

export function sayCaution({ failures, repeats }: Caution): string[] {
  return [
    ...(failures === 0 ? [] : [`${failures} requests of this session in a row were denied or expired.`]),
    ...(repeats === 0 ? [] : [`This session asked ${repeats} times in a row for the same action with other details.`]),
  ]
}
