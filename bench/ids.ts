// Ids that can be told from their number, in the form and the order of the service's own.

export function idOf(n: number): string {
  const number = n.toString(16).padStart(12, '0')
  // What is random in the service's own stands last; here it is the number, and what it makes of it.
  const mixed = (Math.imul(n, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')
  return `${number.slice(0, 8)}-${number.slice(8)}-7000-8${mixed.slice(0, 3)}-${mixed}${number.slice(8)}`
}
