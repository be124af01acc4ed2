// What a bot may do in a channel of Discord: by its roles in the server, and by what the channel says otherwise.
import { type Fields, fieldsOf, listOf } from './fields.js'

/** Bits, as Discord writes permissions: in decimal, in a text. */
const needed: [name: string, bit: bigint][] = [
  ['View Channel', 1n << 10n],
  ['Send Messages', 1n << 11n],
  ['Embed Links', 1n << 14n],
]
const administrator = 1n << 3n
/** A thread goes by the channel above it, which is not looked at. */
const threads = new Set([10, 11, 12])

/** What the bot lacks there, of what it needs. */
export function missingPermissions(channel: Fields, guild: Fields, member: Fields, botId: string): string[] {
  if (threads.has(Number(channel.type))) return []
  const has = permissionsOf(channel, guild, member, botId)
  return needed.filter(([, bit]) => (has & bit) === 0n).map(([name]) => name)
}

function permissionsOf(channel: Fields, guild: Fields, member: Fields, botId: string): bigint {
  const everyone = String(guild.id)
  const roles = new Set([everyone, ...listOf(member.roles).map(String)])
  const base = listOf(guild.roles)
    .map(fieldsOf)
    .filter(({ id }) => roles.has(String(id)))
    .reduce((all, { permissions }) => all | bitsOf(permissions), 0n)
  if ((base & administrator) !== 0n) return ~0n
  const overwrites = listOf(channel.permission_overwrites).map(fieldsOf)
  const steps = [
    overwrites.filter(({ id }) => id === everyone),
    overwrites.filter(({ id }) => id !== everyone && roles.has(String(id))),
    overwrites.filter(({ id }) => id === botId),
  ]
  return steps.reduce((has, step) => {
    const denied = step.reduce((all, { deny }) => all | bitsOf(deny), 0n)
    const allowed = step.reduce((all, { allow }) => all | bitsOf(allow), 0n)
    return (has & ~denied) | allowed
  }, base)
}

function bitsOf(text: unknown): bigint {
  return typeof text === 'string' && /^\d{1,40}$/.test(text) ? BigInt(text) : 0n
}
