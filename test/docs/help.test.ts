// What --help says, held against the table of settings.
import t from 'tap'
import { helpText, settings } from '../../src/config.js'

interface Documented {
  flag?: string
  env: string
  default?: string | number | boolean
}

t.test('the help lists every flag, variable and default', async (t) => {
  for (const { flag, env, default: preset } of Object.values(settings) as Documented[]) {
    const line = helpText.split('\n').find((one) => one.includes(env) && /^ {2}(--|[A-Z])/.test(one))
    t.ok(line, env)
    if (flag !== undefined) t.match(line, `--${flag}`)
    if (preset !== undefined && preset !== false) t.match(line, `(default ${preset})`)
  }
  for (const flag of ['--config', '--help', '--version']) t.match(helpText, flag)
})
