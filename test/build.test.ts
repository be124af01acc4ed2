// scripts/build.js, on a small project of the same shape.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from './support.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('what changed is built, what is gone is removed, and what is damaged is built again', async (t) => {
  const folder = temporaryFolder(t)
  const path = (...names: string[]) => join(folder, ...names)
  const write = (file: string, text: string) => writeFileSync(path(file), text)
  const read = (file: string) => readFileSync(path(file), 'utf8')
  const client = 'clients/python/holdpoint'
  for (const name of ['src/web/browser', 'src/client', 'integrations/openclaw', client, 'test', 'bench', 'scripts']) {
    mkdirSync(path(name), { recursive: true })
  }
  const configs = ['tsconfig.json', 'tsconfig.src.json', 'tsconfig.types.json', 'src/web/browser/tsconfig.json']
  for (const file of ['scripts/build.js', 'package.json', ...configs]) {
    cpSync(join(root, file), path(file))
  }
  // What these sources do not need takes the compiler longer than all else: the types of Node, and most of the libraries.
  const shorten = (file: string, ...pairs: [string, string][]) => {
    const text = read(file)
    for (const [from] of pairs) t.ok(text.includes(from), `${file}: ${from}`)
    write(
      file,
      pairs.reduce((text, [from, to]) => text.replace(from, to), text),
    )
  }
  shorten(
    'tsconfig.json',
    ['"types": ["node"]', '"types": []'],
    ['"lib": ["es2023", "es2024.string"]', '"lib": ["es5"]'],
  )
  shorten('src/web/browser/tsconfig.json', ['"lib": ["es2023", "dom", "dom.iterable"]', '"lib": ["es5"]'])
  write('src/web/browser/dom.d.ts', 'declare const document: { title: string }\n')
  symlinkSync(join(root, 'node_modules'), path('node_modules'))
  write('src/one.ts', 'export const one: number = 1\n')
  write('src/two.ts', "import { one } from './one.js'\nexport const two = one + one\n")
  write('src/index.ts', "export { two } from './two.js'\n")
  write('src/client/index.ts', 'export const client = 1\n')
  write(
    'integrations/openclaw/index.ts',
    "import { client } from './client/index.js'\nexport const plugin: number = client\n",
  )
  write('integrations/openclaw/openclaw.plugin.json', '{}\n')
  write(`${client}/__init__.py`, 'client = 1\n')
  write('test/one.test.ts', "import { one } from '../src/one.js'\nexport const tested: number = one\n")
  write('src/web/browser/page.ts', "document.title = 'one'\n")
  write('src/web/browser/page.css', 'body { margin: 0 }\n')
  const build = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path('scripts/build.js'), ...args], {
      encoding: 'utf8',
    })
    return { status, said: stdout + stderr }
  }

  t.match(build('src'), { status: 0, said: /^Building, once\..*\n$/ }, 'the first build says what it does')
  t.ok(existsSync(path('dist/src/two.js')))
  t.notOk(existsSync(path('dist/test')), 'and builds the program alone')
  t.equal(
    read('dist/src/web/browser/page.js'),
    '"use strict";\ndocument.title = \'one\';\n',
    'what runs in a browser is a classic script',
  )
  t.equal(read('dist/src/web/browser/page.css'), 'body { margin: 0 }\n')
  t.equal(read('dist/types/two.d.ts'), 'export declare const two: number;\n', 'what is exported has its types')
  t.same(build('src'), { status: 0, said: '' })
  t.same(build(), { status: 0, said: '' }, 'everything, where the tests need it')
  t.ok(existsSync(path('dist/test/one.test.js')))

  rmSync(path('node_modules'))
  t.same(build('src'), { status: 0, said: '' }, 'with nothing to do no compiler is needed')
  symlinkSync(join(root, 'node_modules'), path('node_modules'))

  const before = read('src/one.ts')
  write('src/one.ts', before.replace('1\n', '3\n'))
  t.same(build('src'), { status: 0, said: '' })
  t.match(read('dist/src/one.js'), 'one = 3')
  write('src/one.ts', before)
  t.same(build(), { status: 0, said: '' })
  t.match(read('dist/src/one.js'), 'one = 1', 'also back to what it was, by the other way to build')

  write('src/web/browser/page.css', 'body { margin: 1px }\n')
  t.same(build('src'), { status: 0, said: '' })
  t.equal(read('dist/src/web/browser/page.css'), 'body { margin: 1px }\n')
  write('src/web/browser/page.ts', 'process.exit()\n')
  write('src/two.ts', "import { one } from './one.js'\ndocument.title = String(one)\n")
  const mixed = build('src')
  t.match(mixed, { status: 2, said: /src\/web\/browser\/page\.ts.*TS/ }, 'a browser has nothing of Node')
  t.match(mixed, { status: 2, said: /src\/two\.ts.*TS/ }, 'and the rest has nothing of a browser')
  write('src/web/browser/page.ts', "document.title = 'two'\n")
  write('src/two.ts', "import { one } from './one.js'\nexport const two = one + one\n")
  t.same(build('src'), { status: 0, said: '' })

  const plugins = {
    'dist/integrations/openclaw/client/index.js': 'client = 1',
    'dist/integrations/openclaw/openclaw.plugin.json': '{}',
    'dist/integrations/hermes/client/__init__.py': 'client = 1',
  }
  for (const [output, text] of Object.entries(plugins)) t.match(read(output), text, 'a plugin is whole by itself')
  write('src/client/index.ts', 'export const client = 2\n')
  write(`${client}/__init__.py`, 'client = 2\n')
  t.same(build('src'), { status: 0, said: '' })
  t.match(read('dist/integrations/openclaw/client/index.js'), 'client = 2', 'and has the client that there is now')
  t.match(read('dist/integrations/hermes/client/__init__.py'), 'client = 2')
  rmSync(path('dist/integrations/openclaw/client'), { recursive: true })
  t.same(build('src'), { status: 0, said: '' })
  t.ok(existsSync(path('dist/integrations/openclaw/client/index.js')), 'and never half')

  rmSync(path('src/web/browser/page.css'))
  rmSync(path('test/one.test.ts'))
  t.same(build('src'), { status: 0, said: '' })
  t.notOk(existsSync(path('dist/src/web/browser/page.css')), 'no style is served whose source is gone')
  t.notOk(existsSync(path('dist/test/one.test.js')), 'no test runs whose source is gone')

  for (const output of ['dist/src/two.js', 'dist/types/index.d.ts']) {
    rmSync(path(output))
    t.same(build('src'), { status: 0, said: '' })
    t.ok(existsSync(path(output)), 'half a dist is made whole')
  }

  write('src/index.ts', "export { one } from './one.js'\n")
  t.same(build('src'), { status: 0, said: '' })
  t.notOk(existsSync(path('dist/types/two.d.ts')), 'no types are packed that nobody can import')

  // As a build leaves it that was killed: outputs that are not what they should be, and no stamp.
  rmSync(path('dist/.built'))
  write('dist/src/one.js', 'export const one = 2\n')
  t.match(build('src'), { status: 0, said: /^Building/ })
  t.match(read('dist/src/one.js'), 'one = 1', 'what an interrupted build left is not taken for complete')

  write('src/two.ts', 'export const two: number = "two"\n')
  for (const time of ['first', 'second']) {
    t.match(build('src'), { status: 2, said: /src\/two\.ts.*TS2322/ }, `a mistake is said, the ${time} time too`)
  }
  write('src/two.ts', 'export const two = 2\n')
  t.same(build('src'), { status: 0, said: '' })

  // A compiler that has read everything when somebody saves once more. Others read at the same time, so only one says when.
  const late = 'export const two = 22\n'
  rmSync(path('node_modules'))
  mkdirSync(path('node_modules/typescript/bin'), { recursive: true })
  for (const name of ['@types', 'undici-types']) {
    symlinkSync(join(root, 'node_modules', name), path('node_modules', name))
  }
  write('node_modules/typescript/package.json', '{"name":"typescript","type":"commonjs"}')
  write(
    'node_modules/typescript/bin/tsc',
    `require('node:child_process').execFileSync(process.execPath, [${JSON.stringify(join(root, 'node_modules/typescript/bin/tsc'))}, ...process.argv.slice(2)])
     if (process.argv.includes('tsconfig.src.json')) require('node:fs').writeFileSync(${JSON.stringify(path('src/two.ts'))}, ${JSON.stringify(late)})`,
  )
  write('src/two.ts', 'export const two = 21\n')
  t.same(build('src'), { status: 0, said: '' })
  t.match(read('dist/src/two.js'), 'two = 21')
  t.same(build('src'), { status: 0, said: '' })
  t.match(read('dist/src/two.js'), 'two = 22', 'what is saved during a build is built by the next')
  rmSync(path('node_modules'), { recursive: true })
  symlinkSync(join(root, 'node_modules'), path('node_modules'))

  rmSync(path('dist'), { recursive: true })
  t.match(build('src'), { status: 0, said: /^Building/ })
  t.ok(existsSync(path('dist/src/two.js')))
})
