import t from 'tap'
import { highRiskActions, isHighRisk, timeoutSeconds } from '../../src/policy/risk.js'

t.test('the ten high-risk actions are known', async (t) => {
  t.equal(highRiskActions.size, 10)
  for (const action of highRiskActions) t.ok(isHighRisk(action), action)
})

t.test('another spelling of a high-risk action is still that action', async (t) => {
  for (const action of [
    'DEPLOY_PRODUCTION',
    'deploy-production',
    'Deploy Production',
    ' deploy_production ',
    'deploy.production',
    'deploy__production',
    'deploy_\u200bproduction',
    'ｄｅｌｅｔｅ＿ｄａｔａ',
    'delete\u00a0data',
    'wipe\u2010database',
    'delete_data\ufe0f',
    'delete\u034f_data',
    'delete\u3164_data',
    'delete\u180b_data',
    'delete_data\u0301',
    'deleteData',
    'deletedata',
    'd\u0435lete_data',
    'rοtate_keys',
  ]) {
    t.ok(isHighRisk(action), JSON.stringify(action))
  }
})

t.test('actions that merely resemble one are not', async (t) => {
  for (const action of ['deploy', 'deploy_production_docs', 'delete', 'data', 'transfer', 'send_mail', '', '日本']) {
    t.notOk(isHighRisk(action), action)
  }
})

t.test('a wait is clamped to its bounds', async (t) => {
  t.same([NaN, -Infinity, Infinity, 31.7, '60'].map(timeoutSeconds), [300, 30, 3600, 31, 300])
})
