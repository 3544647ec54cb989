import { pino } from 'pino';
import { createSuperAdminKey } from '../../../commands/identity/admin-key.ts';
import { ApiKeyCreate, revokePlatformKey } from '../../../commands/identity/api-key.ts';
import { tokenOf } from '../../../domain/event.ts';
import { isId25 } from '../../../domain/id.ts';
import { buildKey } from '../../../domain/identity/api-key-format.ts';
import { keyPage } from '../../../projections/identity/api-key.queries.ts';
import { apikeys } from '../../../projections/identity/api-key.ts';
import { BASE62, randomText } from '../../aggregates/random-text.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import type { Log } from '../../eventstore/event-log.ts';
import { printLine } from '../../logging/print-line.ts';
import { createReads } from '../../readmodel/postgres-read-model.ts';
import { locateServices } from '../locate-services.ts';
import { type OperatorContext, openOperatorContext } from '../operator-context.ts';

/** The operator who runs these commands is not a user of the platform. */
const ACTOR = { kind: 'system', id: 'annals keys' } as const;
const PAGE_SIZE = 200;

type ListedKey = { id: string; name: string; created_at: string; last_used_at: string | null; expires_at: string | null };

const withContext = async <T>(config: Config, work: (ctx: OperatorContext) => Promise<T>): Promise<T> => {
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    return await work(await openOperatorContext(log, config.masterKeyFile, ACTOR));
  } finally {
    await log.close();
  }
};

const checkedName = (name: string): string => {
  const { data, error } = ApiKeyCreate.shape.name.safeParse(name);
  if (data === undefined) throw new Error(`--name ${error.issues[0]?.message ?? 'is not valid'}`);
  return data;
};

/** Prints the key's text, which cannot be shown again later. Returns the exit code. */
export const createAdminKey = async (config: Config, name: string): Promise<number> => {
  const checked = checkedName(name);
  const { id, state } = await withContext(config, (ctx) => createSuperAdminKey(ctx, checked, 'annals keys create'));
  printLine(`API key (shown once): ${state.key}`);
  printLine(`id, for annals keys revoke: ${id}`);
  return 0;
};

/** Returns the exit code. @throws Refusal not_found */
export const revokeAdminKey = async (config: Config, id: string): Promise<number> => {
  if (!isId25(id)) throw new Error('name the id of an API key, as annals keys list shows it');
  await withContext(config, (ctx) => revokePlatformKey(ctx, { id }));
  printLine(`revoked ${id}`);
  return 0;
};

const lineOf = ({ id, name, created_at, last_used_at, expires_at }: ListedKey): string =>
  `created ${created_at}  used ${last_used_at ?? 'never'}${expires_at ? `  expires ${expires_at}` : ''}  ${name}  ${id}`;

/** Returns the end of the log as a consistency token; null if the log is empty. */
const endOf = async (log: Log): Promise<string | null> => {
  const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
  return last ? tokenOf(last.position) : null;
};

/** Prints the API keys of the platform, one per line, the newest first. @returns the exit code */
export const listAdminKeys = async (config: Config): Promise<number> => {
  const { eventstoreUrl, databaseUrl } = locateServices(config);
  const log = openLog(eventstoreUrl);
  const reads = await createReads(databaseUrl, pino({ level: 'silent' }));
  try {
    const end = await endOf(log);
    if (end) await reads.passed(apikeys.name, end);
    const sort = { column: 'created_at', descending: true };
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await keyPage(reads, { kind: 'platform' }, { sort, limit: PAGE_SIZE, cursor });
      for (const key of JSON.parse(page.body) as ListedKey[]) printLine(lineOf(key));
      cursor = page.next;
    }
    return 0;
  } finally {
    await Promise.all([reads.close(), log.close()]);
  }
};

/** The key can be used as ANNALS_ADMIN_KEY; it is not registered on any platform. Returns the exit code. */
export const printNewKey = (): number => {
  printLine(buildKey(randomText(BASE62, 8), randomText(BASE62, 32)));
  return 0;
};
