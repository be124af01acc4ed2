// holdpoint.sample.yaml is its own manual: it loads, it names every setting, and it shows the true defaults.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse as parseYaml } from 'yaml'
import { fileKey, settings } from '../src/config/settings.js'
import { readInvocation } from '../src/invocation.js'
import { temporaryFolder } from './support.js'

const file = fileURLToPath(new URL('../../holdpoint.sample.yaml', import.meta.url))
const sample = readFileSync(file, 'utf8')
/** Prose begins with "# ", a setting that is commented out with its name. */
const uncommented = sample.replace(/^#(?=[a-z_]+:)/gm, '')
const keys = Object.keys(settings).map(fileKey)

t.test('the sample as it is changes nothing', async (t) => {
  t.same(readInvocation(['--config', file], {}), readInvocation([], {}))
})

t.test('the sample names every setting, and with all of them in force it loads', async (t) => {
  const values = parseYaml(uncommented) as Record<string, unknown>
  t.same(Object.keys(values).sort(), keys.toSorted())
  const whole = join(temporaryFolder(t), 'whole.yaml')
  writeFileSync(whole, uncommented)
  const invocation = readInvocation(['--config', whole], {})
  if (invocation.command !== 'serve') throw new Error('unreachable')
  t.same(invocation.warnings, [])
  for (const [key, value] of Object.entries(invocation.config)) t.strictSame(value, values[fileKey(key)], key)
})

t.test('each setting stands below a comment that names its flag and its variable', async (t) => {
  const blocks = sample.split('\n\n')
  for (const [key, setting] of Object.entries(settings)) {
    const block = blocks.find((one) => new RegExp(`^#?${fileKey(key)}:`, 'm').test(one)) ?? ''
    t.match(block, /^# [A-Za-z]/, `${key} is explained`)
    t.match(block, setting.env)
    if ('flag' in setting) t.match(block, `--${setting.flag}`)
  }
})

t.test('an id with too many digits for a number is refused, not shortened', async (t) => {
  const whole = join(temporaryFolder(t), 'ids.yaml')
  writeFileSync(whole, 'telegram_home_channel: -1001234567890\ndiscord_home_channel: 123456789012345678\n')
  t.throws(() => readInvocation(['--config', whole], {}), {
    message: /discord_home_channel .* has too many digits; put it in quotes/,
  })
})
