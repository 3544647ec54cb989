import { counted } from '../../../domain/counted.ts';
import type { KeyRotations } from '../../../domain/operations/key-rotation.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import { examplesOf } from '../../logging/examples.ts';
import { printLine } from '../../logging/print-line.ts';
import { type KeyReport, reportKeys, type TenantKeys } from '../../rotation/key-report.ts';
import { openRotationRecord } from '../../rotation/rotation-record.ts';
import { openMasterKeys } from '../../vault/master-keys.ts';
import { NAME_KEY, readWrappedKeys } from '../../vault/wrapped-keys.ts';
import { locateServices } from '../locate-services.ts';

const DAY_MS = 86_400_000;

const daysSince = (at: string): number => Math.max(0, Math.floor((Date.now() - Date.parse(at)) / DAY_MS));

/** Returns the age of a key as a text, such as `3 days old`. */
export const ageText = (at: string): string => `${counted(daysSince(at), 'day')} old`;

/** The state of all keys in the form that `annals vault status --json` prints. */
type VaultStatus = KeyReport & {
  readonly master: { readonly kid: string; readonly since: string; readonly file: string };
  readonly rotations: Pick<KeyRotations, 'master' | 'data_keys'>;
};

const statusOf = async (config: Config): Promise<VaultStatus> => {
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    const [nameKey] = await readWrappedKeys(log, NAME_KEY.tenant, NAME_KEY.id);
    if (!nameKey) throw new Error('this platform was never started: run annals start or annals serve first');
    const { master, data_keys, master_replaced_at } = await openRotationRecord(log).load();
    const { kid } = (await openMasterKeys(config.masterKeyFile, false)).main();
    const since = master_replaced_at ?? nameKey.created_at;
    return { master: { kid, since, file: config.masterKeyFile }, rotations: { master, data_keys }, ...(await reportKeys(log)) };
  } finally {
    await log.close();
  }
};

const byAge = (a: TenantKeys, b: TenantKeys): number => Date.parse(a.created_at) - Date.parse(b.created_at);

const dataKeyLine = ({ tenant, kid, versions, created_at }: TenantKeys): string =>
  `data key    ${tenant}  ${kid}, ${ageText(created_at)}${versions > 1 ? `; ${versions - 1} older ${versions === 2 ? 'one' : 'ones'}` : ''}`;

const linesOf = ({ master, rotations, keys, wrappers, tenants }: VaultStatus, isVerbose: boolean): string[] => {
  const running = rotations.master;
  const open = Object.entries(rotations.data_keys);
  return [
    `master key  ${master.kid}, ${ageText(master.since)}, in ${master.file}; it opens ${wrappers[master.kid] ?? 0} of ${counted(keys, 'key')}`,
    ...(running
      ? [
          `rotation    from ${running.from_kid} to ${running.to_kid} since ${running.started_at}: the new master key opens ${wrappers[running.to_kid] ?? 0} of ${counted(keys, 'key')}${running.is_confirmed ? '' : '; it waits for annals vault rotate --master --finish'}`,
        ]
      : []),
    ...open.map(([tenant, kid]) => `rotation    of the data key of ${tenant} to ${kid}`),
    ...examplesOf(tenants.toSorted(byAge).map(dataKeyLine), isVerbose),
  ];
};

/** Prints the oldest key first. Returns the exit code. @throws Error with a one-line message for the operator */
export const showVault = async (
  config: Config,
  { json, verbose }: { readonly json: boolean; readonly verbose: boolean },
): Promise<number> => {
  const status = await statusOf(config);
  if (json) printLine(JSON.stringify(status));
  if (!json) for (const line of linesOf(status, verbose)) printLine(line);
  return 0;
};
