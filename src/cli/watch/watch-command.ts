import type { Context } from '../key-commands.js'
export async function watch(_context: Context): Promise<void> {}
