import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { auditProofOperations } from '../../api/audit/audit-proof.ts';
import type { Ctx } from '../../api/http/operation.ts';
import { signHeads } from '../../commands/audit/sign-heads.reactor.ts';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import { leafHash, rootFromInclusion } from '../../domain/audit/merkle-tree.ts';
import { type Recorded, tokenOf } from '../../domain/event.ts';
import { reactorContext } from '../../infra/aggregates/reactor-context.ts';
import { headSigning } from '../../infra/audit/sign-audit-heads.ts';
import { openSigningKey } from '../../infra/audit/signing-key.ts';
import { connectionConfig } from '../../infra/postgres/pool.ts';
import { createSchema, createSystemTables } from '../../infra/projector/schema.ts';
import { createReads, type PostgresReads } from '../../infra/readmodel/postgres-read-model.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { auditHeads } from '../../projections/audit/audit-head.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const TENANT = 'c000000000000000000000000';
const PROOFS = 500;
/** The time to wait before the statistics of Postgres are read, because Postgres publishes them with a delay. */
const STATISTICS_DELAY_MS = 12_000;
const PLACE = `repeat(lpad((n * 10)::text, 20, '0'), 2)`;
const LEAF = `rtrim(translate(encode(sha256('\\x00'::bytea || convert_to('entry ' || n, 'UTF8')), 'base64'), '+/', '-_'), '=')`;

/**
 * Fills the table of the audit log with `count` entries. Drops all secondary indexes except the one that proofs use,
 * because filling the others takes very long.
 */
const fillEntries = async (client: pg.Client, count: number): Promise<void> => {
  await createSystemTables(client);
  for (const projection of [audit, auditHeads]) await createSchema(client, projection.name, projection);
  const { rows } = await client.query<{ name: string; sql: string }>(
    `select indexname as name, indexdef as sql from pg_indexes
     where schemaname = 'audit' and tablename = 'audit_logs' and indexdef !~ 'UNIQUE'`,
  );
  for (const { name } of rows) await client.query(`drop index audit."${name}"`);
  await client.query(
    `insert into audit.audit_logs (id, tenant_id, place, leaf_hash, doc, touched)
     select 'e' || n, '${TENANT}', ${PLACE}, ${LEAF}, '{}', '' from generate_series(1, ${count}) as n`,
  );
  for (const { sql } of rows) if (sql.endsWith('(tenant_id, place)')) await client.query(sql);
  await client.query('vacuum analyze audit.audit_logs');
};

type HeadEvent = Recorded<AuditHead.AuditHeadEvent>;

const storeHeads = async (client: pg.Client, events: readonly HeadEvent[]): Promise<void> => {
  for (const { data, event_id } of events) {
    const { peaks: _, before, ...head } = data;
    await client.query(
      'insert into auditheads.heads (tenant_id, id, size, place, at, doc, tree, touched) values ($1, $2, $3, $4, $5, $6, $7, $8)',
      [
        ...[TENANT, event_id, data.size, AuditHead.sortKeyOf(data.position), data.at],
        ...[JSON.stringify({ ...head, previous_size: before.size, anchored_at: null }), JSON.stringify({ before }), ''],
      ],
    );
  }
  await client.query('vacuum analyze auditheads.heads');
};

/** Requests proofs of `PROOFS` random entries and checks each proof. Returns the sorted durations in milliseconds. */
const measureProofs = async (reads: PostgresReads, count: number): Promise<number[]> => {
  const ctx = { reads, tenant: TENANT } as unknown as Ctx;
  const times: number[] = [];
  const prove = auditProofOperations.getAuditProof.run as unknown as (ctx: Ctx, query: object) => Promise<{ doc: string }>;
  for (let index = 0; index < PROOFS; index++) {
    const entry = 1 + Math.floor(Math.random() * count);
    const position = tokenOf({ commit: BigInt(entry * 10), prepare: BigInt(entry * 10) });
    const startedAt = performance.now();
    const { doc } = await prove(ctx, { tenant_id: TENANT, position });
    times.push(performance.now() - startedAt);
    const { leaf, index: place, size, path, head } = JSON.parse(doc);
    if (leaf !== leafHash(`entry ${entry}`) || place !== entry - 1 || rootFromInclusion(leaf, place, size, path) !== head.root)
      throw new Error(`the proof of the entry ${entry} is wrong`);
  }
  return times.toSorted((a, b) => a - b);
};

/**
 * Returns the number of table and index blocks that Postgres has read, from its cache or from disk, according to its
 * statistics.
 */
const blocksRead = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query<{ blocks: string }>(
    `select sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0)) as blocks
     from pg_statio_user_tables where schemaname in ('audit', 'auditheads')`,
  );
  return Number(rows[0]!.blocks);
};

/**
 * Signs tree heads over all entries in the same way as the reactor, and stores them. @returns the elapsed time per
 * entry, and the processor time of this process per entry, in microseconds
 */
const measureHeads = async (client: pg.Client, reads: PostgresReads, count: number): Promise<[elapsed: number, processor: number]> => {
  const log = memoryLog();
  const vault = await openVault({ log, masterKeyFile: join(createTempDirectory().dir, 'master.key') });
  const ctx = reactorContext(log).inTenant(TENANT);
  const signing = headSigning(reads, await openSigningKey({ log, vault }));
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await signHeads(ctx, signing);
  const elapsed = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  await storeHeads(client, log.events.filter(({ category }) => category === AuditHead.category) as HeadEvent[]);
  return [(elapsed * 1_000) / count, (user + system) / count];
};

/**
 * The results of the benchmark. Per proof: `median`, `p99` and `longest` in milliseconds, and the number of Postgres
 * blocks read. Per event: the elapsed time and the processor time of signing heads, in microseconds.
 */
export type ProofFigures = Readonly<Record<'median' | 'p99' | 'longest' | 'blocks' | 'headTime' | 'headProcessorTime', number>>;

/** Measures proofs of random entries and the signing of heads in a tenant with `count` audit entries. */
export const proofBench = async (count: number): Promise<ProofFigures> => {
  const databaseUrl = await freshDatabase();
  const client = new pg.Client(connectionConfig(databaseUrl, 'bench'));
  await client.connect();
  await client.query('set statement_timeout = 0');
  await fillEntries(client, count);
  const reads = await createReads(databaseUrl, pino({ level: 'silent' }));
  const [headTime, headProcessorTime] = await measureHeads(client, reads, count);
  await sleep(STATISTICS_DELAY_MS);
  const before = await blocksRead(client);
  const times = await measureProofs(reads, count);
  await sleep(STATISTICS_DELAY_MS);
  const blocks = ((await blocksRead(client)) - before) / PROOFS;
  await Promise.all([reads.close(), client.end()]);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  return { median: at(0.5), p99: at(0.99), longest: at(1), blocks, headTime, headProcessorTime };
};
