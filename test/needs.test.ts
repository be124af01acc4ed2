import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const browserTests = fileURLToPath(new URL('./web/shown.test.js', import.meta.url))

/** The tests of a browser, where there is none. */
function runWithout(ci: Record<string, string>): Promise<{ code: number; stdout: string }> {
  const env = { PATH: process.env.PATH, TAP: '1', CHROMIUM_PATH: '/nowhere/chromium', ...ci }
  return new Promise((resolve) =>
    execFile(process.execPath, [browserTests], { env }, (error, stdout) =>
      resolve({ code: Number(error?.code ?? 0), stdout }),
    ),
  )
}

t.test('a test that cannot run is skipped with a sentence, and fails in CI', async (t) => {
  const [here, inCi] = await Promise.all([runWithout({}), runWithout({ CI: 'true' })])
  t.match(here, { code: 0, stdout: /# SKIP needs Chromium: there is no \/nowhere\/chromium: apt-get install chromium/ })
  t.match(inCi, { code: 1, stdout: /not ok .*needs Chromium: there is no \/nowhere\/chromium/ })
})
