import t from 'tap'
import { defaultTimeout, highRiskActions, highRiskName, isHighRisk, timeoutWithin } from '../../src/policy/risk.js'

t.test('the ten high-risk actions are known', async (t) => {
  t.equal(highRiskActions.size, 10)
  for (const action of highRiskActions) t.ok(isHighRisk(action), action)
})

t.test('another spelling of a high-risk action is still that action', async (t) => {
  const spellings: [string, string][] = [
    ['DEPLOY_PRODUCTION', 'deploy_production'],
    ['deploy-production', 'deploy_production'],
    ['deploy.production', 'deploy_production'],
    ['deploy__production', 'deploy_production'],
    ['_deploy/:production.', 'deploy_production'],
    ['deleteData', 'delete_data'],
    ['deletedata', 'delete_data'],
    ['delete/data', 'delete_data'],
    ['deIete_data', 'delete_data'],
    ['de1ete_data', 'delete_data'],
    ['de/ete_data', 'delete_data'],
    ['clelete_clata', 'delete_data'],
    ['c1elete_data', 'delete_data'],
    ['pub1ish_package', 'publish_package'],
    ['modlfy_perm1ssions', 'modify_permissions'],
    ['modify_perrnissions', 'modify_permissions'],
    ['depl0y_producti0n', 'deploy_production'],
    ['rnigrate_database', 'migrate_database'],
    ['vvipe_database', 'wipe_database'],
  ]
  for (const [action, name] of spellings) {
    t.equal(highRiskName(action), name, action)
    t.ok(isHighRisk(action), action)
  }
})

t.test('a name with anything else in it is high-risk, whatever it says', async (t) => {
  for (const action of [
    'delete\u02cddata',
    'delete data',
    'delete_data\u200b',
    'de|ete_data',
    'd\u0435lete_data',
    '\u0440\u0430y_x',
    'ｐａｙ_x',
    'pay+x',
    'pay_x\n',
    '日本',
    'delete_файл',
    'überweisung',
    '*',
    '\u212e'.repeat(1000),
  ]) {
    t.ok(isHighRisk(action), JSON.stringify(action))
    t.equal(highRiskName(action), undefined, 'and none of the ten')
  }
})

t.test('plain names that merely resemble one are not', async (t) => {
  for (const action of [
    'deploy',
    'deploy_production_docs',
    'delete',
    'data',
    'transfer',
    'send_mail',
    '',
    'delete_date',
    'delete_data_2',
    'rotate_key',
    'exec_remove',
    'exec_reports',
    'wipe_databases',
    'https://example.com/send',
    'x'.repeat(1000),
  ]) {
    t.notOk(isHighRisk(action), action)
  }
})

t.test('a wait is clamped to its bounds', async (t) => {
  const within = (asked: number | null) => timeoutWithin(asked, defaultTimeout)
  t.same([null, -Infinity, Infinity, 31.7].map(within), [300, 30, 3600, 31])
})
