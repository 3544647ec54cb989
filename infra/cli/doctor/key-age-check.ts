import { setTimeout as sleep } from 'node:timers/promises';
import { counted } from '../../../domain/counted.ts';
import { openLog } from '../../eventstore/client.ts';
import { type Log, LogError } from '../../eventstore/event-log.ts';
import { none, ok, type Result, warn } from '../../health/finding.ts';
import { isDue, type KeyReport, reportKeys } from '../../rotation/key-report.ts';
import { openRotationRecord } from '../../rotation/rotation-record.ts';
import { openMasterKeys } from '../../vault/master-keys.ts';
import { NAME_KEY, readWrappedKeys, wrapperOf, wrapsOf } from '../../vault/wrapped-keys.ts';
import { ageText } from '../vault/vault-status.ts';

/** The maximum time to find all keys, in milliseconds. If it takes longer, as with a very large log, the check is aborted. */
const TIMEOUT_MS = 4_000;
const RUNNING_FOR_LONG_MS = 3_600_000;

const oldestOf = ({ tenants }: KeyReport) => tenants.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))[0];

const agesOf = (report: KeyReport, masterSince: string): string => {
  const oldest = oldestOf(report);
  const dataKeys = oldest
    ? `, the oldest of the data keys of ${counted(report.tenants.length, 'tenant')} ${ageText(oldest.created_at)}`
    : '';
  return `the master key is ${ageText(masterSince)}${dataKeys}`;
};

/** Also reports a key rotation that was not completed. @throws LogError */
export const keyFinding = async (log: Log, masterKeyFile: string): Promise<Result> => {
  const [nameKey] = await readWrappedKeys(log, NAME_KEY.tenant, NAME_KEY.id);
  if (!nameKey) return none('there are no keys yet: the first start creates them');
  const { master, master_replaced_at } = await openRotationRecord(log).load();
  const kid = await openMasterKeys(masterKeyFile, false).then(
    (masters) => masters.main().kid,
    () => null,
  );
  if (kid === null || !wrapsOf(nameKey).map(wrapperOf).includes(kid))
    return none('not checked, because the master key does not open this log');
  const report = await reportKeys(log);
  const ages = agesOf(report, master_replaced_at ?? nameKey.created_at);
  if (master && Date.parse(master.started_at) < Date.now() - RUNNING_FOR_LONG_MS) {
    const advice = master.is_confirmed
      ? 'start annals work; its log says why it is not completed'
      : 'annals vault rotate --master --finish';
    return warn(`a rotation of the master key is in progress since ${master.started_at}; ${ages}`, advice);
  }
  const unopened = report.keys - (report.wrappers[kid] ?? 0);
  if (unopened > 0 && !master)
    return warn(
      `${unopened} of ${counted(report.keys, 'key')} ${unopened === 1 ? 'needs' : 'need'} an older master key than ${kid}; ${ages}`,
      'annals vault rotate --master',
    );
  const due = report.tenants.filter(isDue).length;
  return due > 0
    ? warn(`${counted(due, 'data key')} ${due === 1 ? 'is' : 'are'} older than 90 days; ${ages}`, 'annals vault rotate --due')
    : ok(ages);
};

export const checkKeyAges = async (masterKeyFile: string, eventstoreUrl: string | null): Promise<Result> => {
  if (eventstoreUrl === null) return none('there are no keys yet: the first start creates them');
  const log = openLog(eventstoreUrl);
  const late = sleep(TIMEOUT_MS, none(`not checked: no result within ${TIMEOUT_MS / 1_000} s, see annals vault status`), { ref: false });
  try {
    return await Promise.race([keyFinding(log, masterKeyFile), late]);
  } catch (error) {
    if (error instanceof LogError) return none('not checked, because the event store does not answer');
    throw error;
  } finally {
    await log.close();
  }
};
