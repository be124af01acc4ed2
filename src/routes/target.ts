// What a request is for, written in one way, so that whoever looks at its path sees what the router sees.

/** A whole URL comes to its path, and what needs no escape to the character itself. What is malformed stays so. */
export function normalTarget(target: string): string {
  const path = target.replace(/^https?:\/\/[^/]*\//i, '/')
  if (!path.includes('%') || /%(?![\da-f]{2})/i.test(path)) return path
  return path.replace(/%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi, decodeURIComponent)
}
