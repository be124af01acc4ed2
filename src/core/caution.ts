// What is odd about a request, for the person who decides and for the agent: said in the same words everywhere.

/** As it stood when it was submitted; 0: nothing to say. */
export interface Caution {
  /** So many before it, in the same session and in a row, were denied or expired. */
  failures: number
  /** It is the so manieth for the same action in a row, each with other details. */
  repeats: number
}

const nothing: Caution = { failures: 0, repeats: 0 }

/** In sentences. */
export function sayCaution(caution: Caution | null): string[] {
  const { failures, repeats } = caution ?? nothing
  if (failures === 0 && repeats === 0) return []
  const failed = failures === 1 ? 'the last request was' : `${failures} requests in a row were`
  return [
    ...(failures === 0 ? [] : [`In this session, ${failed} denied or expired.`]),
    ...(repeats === 0
      ? []
      : [`The same action was asked for ${times(repeats)} in a row, each time with other details.`]),
  ]
}

/** In a few words each, where there is room for no sentence. */
export function nameCaution(caution: Caution | null): string[] {
  const { failures, repeats } = caution ?? nothing
  const inRow = failures === 1 ? '' : ' in a row'
  return [
    ...(failures === 0 ? [] : [`${failures} denied or expired${inRow}`]),
    ...(repeats === 0 ? [] : [`Asked ${times(repeats)} in a row`]),
  ]
}

function times(count: number): string {
  return count === 2 ? 'twice' : `${count} times`
}
