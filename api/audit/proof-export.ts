import { z } from 'zod';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { createExportLines, EXPORT_FORMAT } from '../../domain/audit/export-lines.ts';
import { inclusionPath, rootOf, type TreeEnd } from '../../domain/audit/merkle-tree.ts';
import { recordedEventText } from '../../domain/audit/recorded-event.ts';
import { type Position, parseToken, type Recorded, sortKey, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type CoveringHead, headCovering, leavesBetween, newestHead } from '../../projections/audit/audit-head.queries.ts';
import { type AuditFilter, entriesUntil } from '../../projections/audit/audit-log.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { AuditKeyRead } from './audit-proof.ts';

/** The maximum number of events that are in memory at a time. */
const EVENTS_PER_STEP = 20;

/** A signed head, and the entries that it adds to the tree before it, with the indexes of their sort keys. */
type Covering = Pick<CoveringHead, 'head' | 'place'> & { readonly end: TreeEnd; readonly indexes: ReadonlyMap<string, number> };

/** @throws Refusal not_caught_up while a rebuild replaces the tables of the audit log */
const loadCovering = async ({ reads, tenant }: Ctx, place: string): Promise<Covering> => {
  const found = await headCovering(reads, tenant, place);
  const rebuilt = new Refusal('not_caught_up', 'The audit log is being rebuilt: try again', { retryAfter: 5 });
  if (!found) throw rebuilt;
  const { head, before } = found;
  const entries = await leavesBetween(reads, tenant, before.position === null ? '' : AuditHead.sortKeyOf(before.position), found.place);
  const end = { size: before.size, peaks: before.peaks, leaves: entries.map(({ leaf }) => leaf) };
  if (rootOf(end) !== head.root) throw rebuilt;
  return { head, place: found.place, end, indexes: new Map(entries.map((entry, index) => [entry.place, before.size + index])) };
};

/**
 * Returns the position up to which entries can be exported with proofs: that of the newest head, or `requested` if it is
 * lower.
 * @throws Refusal not_found if no head is signed yet
 */
export const provablePosition = async ({ reads, tenant }: Ctx, requested: Position): Promise<Position> => {
  const newest = await newestHead(reads, tenant);
  if (!newest) throw new Refusal('not_found', 'No head of the audit log is signed yet: the first one is signed within five minutes');
  return newest.place < sortKey(requested) ? parseToken(newest.head.position)! : requested;
};

type Lines = ReturnType<typeof createExportLines>;
type Selection = { readonly filter: AuditFilter; readonly until: Position };

const signedHeadText = ({ version, size, root, position, at, signature, key_id }: CoveringHead['head']): string =>
  JSON.stringify({ version, size, root, position, at, signature, key_id });

const keyText = ({ key_id, public_key, cross_signature }: z.output<typeof AuditKeyRead>): string =>
  JSON.stringify({ key_id, public_key, cross_signature });

const startOf = async (ctx: Ctx, lines: Lines, { filter, until }: Selection): Promise<string> => {
  const { keys } = (await ctx.load(AuditKey, AuditKey.KEYS_ID)).state;
  const manifest = { format: EXPORT_FORMAT, tenant_id: ctx.tenant, selection: { filter, until: tokenOf(until) } };
  const texts = z.array(AuditKeyRead).parse(keys).map(keyText);
  return [lines.line('manifest', JSON.stringify(manifest)), ...texts.map((text) => lines.line('key', text))].join('');
};

const isPresent = (event: Recorded | null): event is Recorded => event !== null;

/** Yields the events of the selection in log order, a few at a time. */
async function* eventsOf(ctx: Ctx, { filter, until }: Selection): AsyncGenerator<Recorded> {
  for await (const page of entriesUntil(ctx.reads, { tenant_id: ctx.tenant, until, filter })) {
    const positions = page.map((doc) => parseToken((JSON.parse(doc) as { position: string }).position)!);
    for (let at = 0; at < positions.length; at += EVENTS_PER_STEP)
      yield* (await ctx.log.eventsAt(positions.slice(at, at + EVENTS_PER_STEP))).filter(isPresent);
  }
}

/**
 * Yields a file with the selected entries and their proofs, in parts. Each signed head comes before the first entry that
 * it covers, and each entry is followed by its path to the root of that head.
 */
export async function* provenSelection(ctx: Ctx, selection: Selection): AsyncGenerator<string> {
  const lines = createExportLines();
  yield await startOf(ctx, lines, selection);
  let covering = null as Covering | null;
  for await (const event of eventsOf(ctx, selection)) {
    const place = sortKey(event.position);
    const current: Covering = covering && place <= covering.place ? covering : await loadCovering(ctx, place);
    if (current !== covering) yield lines.line('head', signedHeadText(current.head));
    covering = current;
    const index = current.indexes.get(place)!;
    const proof = JSON.stringify({ index, path: inclusionPath(current.end, index) });
    yield lines.line('event', recordedEventText(event)) + lines.line('proof', proof);
  }
  yield lines.end();
}
