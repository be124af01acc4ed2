// Cookies, as few as there are: for this site alone, and not for scripts.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { signInMs } from '../../access/sign-in.js'

export const signInCookie = 'holdpoint_session'
export const formCookie = 'holdpoint_form'

const lifeSeconds = signInMs / 1000

export function cookieOf({ headers }: FastifyRequest, name: string): string {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2)
    if (key === name) return value ?? ''
  }
  return ''
}

/** An empty value takes the cookie away. */
export function setCookie(reply: FastifyReply, name: string, value: string, isSecure: boolean, path = '/'): void {
  const life = value === '' ? 0 : lifeSeconds
  const cookie = `${name}=${value}; Path=${path}; HttpOnly; SameSite=Strict; Max-Age=${life}${isSecure ? '; Secure' : ''}`
  // Fastify adds to those that were set before.
  void reply.header('set-cookie', cookie)
}
