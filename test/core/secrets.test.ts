import t from 'tap'
import { maskSecrets } from '../../src/core/secrets.js'

const secret = 'hunter2hunter2'

t.test('what looks like a secret is masked, whichever way it is written', (t) => {
  const texts = [
    `{"password":"${secret}"}`,
    `{"db_pwd":"${secret}"}`,
    `{"DB_PASS":"${secret}"}`,
    `{"passwords":["a-${secret}","${secret}"]}`,
    `{"body":"{\\"token\\":\\"${secret}\\"}"}`,
    `{"Authorization":"Bearer ${secret}"}`,
    `{"header":"Authorization: Bearer ${secret}"}`,
    `Authorization: Basic ${secret}`,
    `Authorization: token ${secret}`,
    `Proxy-Authorization: Bearer ${secret}`,
    `Cookie: theme=dark; sid=${secret}`,
    `API_KEY=${secret}`,
    `deploy --password ${secret} --now`,
    `deploy --api-key "${secret}"`,
    `{"args":["--token","${secret}"]}`,
    `curl -s -u user:${secret} https://example.com`,
    `postgres://user:${secret}@db.example.com/orders`,
    `postgres://user:p@${secret}@db.example.com/orders`,
    `https://oauth2-${secret}@git.example.com/it.git`,
    `https://example.com/?access_token=${secret}`,
  ]
  for (const text of texts) {
    const masked = maskSecrets(text)
    t.notMatch(masked, secret, text)
    t.match(masked, '[masked]', text)
    t.equal(maskSecrets(masked).includes(secret), false)
  }
  t.equal(
    maskSecrets(`{"header":"Authorization: Bearer ${secret}"}`),
    '{"header":"Authorization: Bearer [masked]"}',
    'and the scheme is not taken for it',
  )
  t.end()
})

t.test('what often stands in requests and is no secret is spared', (t) => {
  const texts = [
    '{"commit":"873eb741c5a0f2d4b6e8f0a1b2c3d4e5f6a7b8c9","max_tokens":4096,"region":"eu"}',
    '{"id":"01a1f23d-bf17-71c0-aed4-92d75cd6c549","compass":"north-north-east"}',
    'git clone ssh://git@git.example.com/it.git',
    'https://example.com:8443/users/@someone',
    'docker run -u 1000:1000 image',
    'deploy --token-file /etc/deploy/token --pass',
    'The author asks for 3 passes.',
  ]
  for (const text of texts) t.equal(maskSecrets(text), text)
  t.end()
})

t.test('hostile texts take no time', (t) => {
  const parts = [
    '"password":',
    '--token ',
    'curl -u a',
    'authorization: a ',
    'a://',
    'a://b:@',
    'cookie: a=',
    '"pass":["',
    'pass',
  ]
  for (const part of parts) t.doesNotThrow(() => maskSecrets(part.repeat(Math.ceil(8000 / part.length))))
  t.end()
})
