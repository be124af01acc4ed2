import t from 'tap'
import { defaultTimeout, highRiskActions, highRiskName, isHighRisk, timeoutWithin } from '../../src/policy/risk.js'

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
    'đelete_data',
    'dełete_data',
    'exec_remøte',
    'migrate_đatabase',
    'MIGRATE_ĐATABASE',
    'delete_datⱥ',
    'delete_dɐta',
    'ᴅelete_data',
    'ꜱhutdown_service',
    'ԝipe_database',
    'shutdown_seгvice',
    'transfer_fuոds',
    'rotate_ⲕeys',
    'ᎠELETE_DATA',
    'ꓓELETE_DATA',
    'TRAΝSFER_FUΝDS',
    'SHUTDOWN_SERνICE',
    'PUBLISΗ_PACKAGE',
    'deIete_data',
    'de1ete_data',
    'de|ete_data',
    'de|ete|data',
    'delete|data',
    'pub1ish_package',
    'modlfy_perm1ss|ons',
    'depl0y_producti0n',
    'rnigrate_database',
    'modify_perrnissions',
    'vvipe_database',
    'clelete_clata',
    'd\u212elete_data',
    'delete_d\u237ata',
    'e\u00d7ec_remote',
    'dele\u22a4e_data',
    '\u2375ipe_database',
    '\ua64dipe_database',
    '\u1d26otate_keys',
    'r\u{1042c}tate_keys',
    '\u{1f173}elete_data',
    'delete\u2192data',
    'd\u212elete\u2192data',
    'de\u2d4fete_data',
    'de\u0627ete_data',
    'publ\u16c1sh_package',
    'm\u16c1grate_database',
    'shutdown_serv\u16c1ce',
    'clelete_d\u{102a0}ta',
    'vvipe_d\u{102a0}tabase',
    'exec_rern\u{1042c}te',
    'deploy_pr\u{1042c}cluction',
    'c|elete_data',
    'delete_c|ata',
    'exec|remote',
  ]) {
    t.ok(isHighRisk(action), JSON.stringify(action))
  }
})

t.test('a name that nobody can read letter by letter counts as high-risk, under its own name', async (t) => {
  for (const name of ['\ufdfa'.repeat(1000), `delete_data${'\u0301'.repeat(100)}`, 'ж'.repeat(101)]) {
    t.equal(highRiskName(name), name)
  }
  t.equal(highRiskName('a'.repeat(1000)), undefined)
})

t.test('actions that merely resemble one are not', async (t) => {
  for (const action of [
    'deploy',
    'deploy_production_docs',
    'delete',
    'data',
    'transfer',
    'send_mail',
    '',
    '日本',
    'delete_date',
    'delete_data_2',
    'rotate_key',
    'exec_remove',
    'wipe_databases',
    'удалить_данные',
    'delete_临时文件',
    'delete_файл',
    'delete_用户账号',
    'delete_ユーザー',
    'delete_메모',
    'delete_صورة',
    'delete_\u{1f5d1}\u{1f5d1}\u{1f5d1}\u{1f5d1}',
    'rotate_日志文件',
    'transfer_文件到备份',
    'shutdown_テストサーバ',
    'wipe_Bücher',
    'überweisung_anlegen',
    'データ_delete',
    'd\u212e\u212e\u212e\u212e\u212e_\u212e\u212e\u212e\u212e',
    'delete_data_日本',
    'exec_reports',
    '|',
  ]) {
    t.notOk(isHighRisk(action), action)
  }
})

t.test('a wait is clamped to its bounds', async (t) => {
  const within = (asked: number | null) => timeoutWithin(asked, defaultTimeout)
  t.same([null, -Infinity, Infinity, 31.7].map(within), [300, 30, 3600, 31])
})
