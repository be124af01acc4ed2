import { execFileSync } from 'node:child_process'
import t from 'tap'
import { callElsewhere, callOf, createCommands, quote, type Start } from '../src/program.js'

const clone: Start = {
  script: '/home/ann/holdpoint/dist/src/server.js',
  folder: '/home/ann/holdpoint/',
  cwd: '/home/ann/holdpoint',
  path: '/usr/local/bin:/usr/bin',
}

t.test('the program is named as it can be called where it was started', async (t) => {
  const installed = {
    ...clone,
    folder: '/srv/app/node_modules/holdpoint/',
    script: '/srv/app/node_modules/.bin/holdpoint',
  }
  const linked = { ...clone, script: '/home/ann/.npm/_npx/72/node_modules/.bin/holdpoint' }
  const fetched = { ...linked, folder: '/home/ann/.npm/_npx/72/node_modules/holdpoint/' }
  for (const [why, start, call] of [
    ['npm start, or node dist/src/server.js, in the clone', clone, 'npx holdpoint'],
    ['from another folder', { ...clone, cwd: '/home/ann' }, 'node /home/ann/holdpoint/dist/src/server.js'],
    ['npx in the clone', linked, 'npx holdpoint'],
    ['npx below the clone', { ...linked, cwd: '/home/ann/holdpoint/docs' }, 'npx holdpoint'],
    ['npx from the registry', { ...fetched, cwd: '/' }, 'npx holdpoint'],
    ['npx in the project that has it', { ...installed, cwd: '/srv/app' }, 'npx holdpoint'],
    ['npx further down', { ...installed, cwd: '/srv/app/deploy' }, 'npx holdpoint'],
    ['.bin from elsewhere', { ...installed, cwd: '/srv/apple' }, 'node /srv/app/node_modules/.bin/holdpoint'],
    ['on the PATH', { ...clone, script: '/usr/local/bin/holdpoint', cwd: '/' }, 'holdpoint'],
    ['on the PATH, in its own folder', { ...clone, script: '/usr/local/bin/holdpoint' }, 'holdpoint'],
    ['not on the PATH', { ...clone, script: '/opt/bin/holdpoint', cwd: '/' }, 'node /opt/bin/holdpoint'],
    [
      'from a folder with a space',
      { ...clone, script: "/home/ann/it's here/dist/src/server.js", cwd: '/' },
      "node '/home/ann/it'\\''s here/dist/src/server.js'",
    ],
  ] as const) {
    t.equal(callOf(start), call, why)
  }
  for (const [why, start, call] of [
    ['npm start', clone, 'node /home/ann/holdpoint/dist/src/server.js'],
    ['npx in the clone', linked, 'node /home/ann/.npm/_npx/72/node_modules/.bin/holdpoint'],
    ['npx from the registry', fetched, 'npx holdpoint'],
    ['npx in the project', { ...installed, cwd: '/srv/app' }, 'node /srv/app/node_modules/.bin/holdpoint'],
    ['on the PATH', { ...clone, script: '/usr/local/bin/holdpoint' }, 'holdpoint'],
  ] as const) {
    t.equal(callElsewhere(start), call, `${why}, for another shell`)
  }
})

t.test('a command names the database, unless it is the one that is meant anyway', async (t) => {
  const standard = '/home/ann/.hermes/confirmation_audit.db'
  t.equal(createCommands('npx holdpoint', standard, standard)('keys list'), 'npx holdpoint keys list')
  t.equal(createCommands('holdpoint', '/data/x.db', standard)('keys list'), 'holdpoint keys list --db-path /data/x.db')
  t.equal(createCommands('holdpoint', '/a b/x.db', standard)('keys list'), "holdpoint keys list --db-path '/a b/x.db'")
  t.match(
    createCommands('holdpoint', 'x.db', standard)('keys list'),
    /--db-path \S*\/x\.db$/,
    'whatever folder it is given in',
  )
})

t.test('a shell reads what is quoted as it was', async (t) => {
  for (const word of ['plain', "it's", 'a b', '$(id)', '`id`', '"', '\\', '*', 'a;b', '', '~', '!x', 'é']) {
    t.equal(execFileSync('sh', ['-c', `printf %s ${quote(word)}`], { encoding: 'utf8' }), word)
  }
})
