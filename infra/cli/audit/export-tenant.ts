import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { comparePositions, type Position, parseToken } from '../../../domain/event.ts';
import { isId25 } from '../../../domain/id.ts';
import { type ExportWriter, refuseExisting, saveExportFile, writeExportFile } from '../../audit/export-file.ts';
import { addLeaf, digestOf, earlierLeaf, exitCodeOf, FORMAT, verifyAuditExport } from '../../audit/verify-audit-export.mjs';
import { printLine } from '../../logging/print-line.ts';
import { printError } from '../../processes/exit.ts';
import { apiClient, type RunnerApi, retryTransient } from '../../runner/api-client.ts';
import { createOutageReport } from '../../runner/outage-report.ts';
import { usageError } from '../arguments.ts';
import { verificationLines } from './verify-export.ts';

const Head = z.object({
  version: z.literal([1, 2]),
  size: z.int(),
  root: z.string(),
  position: z.string(),
  at: z.string(),
  signature: z.string(),
  key_id: z.string(),
});
type Head = z.output<typeof Head>;
const Key = z.object({ key_id: z.string(), public_key: z.string(), cross_signature: z.string().nullable() });

const Entry = z.object({ position: z.string() });

const EVENTS_PER_PAGE = 200;
const HEADS_PER_PAGE = 200;
const POLL_MS = 1_000;
/** The maximum wait for an audit head, in milliseconds. A worker signs one within five minutes after an event. */
const MAX_WAIT_MS = 10 * 60_000;

/** A signal that is never aborted: only the end of the process stops the retries. */
const NEVER = new AbortController().signal;

/** Yields items exactly as the service sends them. Only one page is in memory at a time. */
async function* textsOf(api: RunnerApi, first: string): AsyncGenerator<string> {
  for (let path: string | null = first; path !== null; ) {
    const at: string = path;
    const page = await retryTransient(() => api.page(at), NEVER);
    if (page.text !== '[]') yield* page.text.slice(1, -1).split(',\n');
    path = page.next;
  }
}

/** Yields the audit heads of a tenant in ascending order of size, up to the given head, whose version they have. */
async function* headsUntil(api: RunnerApi, tenant: string, { version, size }: Head): AsyncGenerator<Head> {
  const first = `/tenant/${tenant}/audit-logs/heads?version=${version}&sort=size&limit=${HEADS_PER_PAGE}`;
  for (let path: string | null = first; path !== null; ) {
    const at: string = path;
    const page = await retryTransient(() => api.page(at), NEVER);
    const heads = z.array(Head).parse(JSON.parse(page.text));
    yield* heads.filter((head) => head.size <= size);
    path = heads.some((head) => head.size >= size) ? null : page.next;
  }
}

const positionOf = (text: string): Position => parseToken((JSON.parse(text) as { position: string }).position)!;

/** The heads of one tree that are not written yet, and its peaks over the entries that are. */
type WrittenTree = { readonly heads: AsyncGenerator<Head>; readonly peaks: string[]; next: Head | undefined };

const openTree = async (api: RunnerApi, tenant: string, last: Head): Promise<WrittenTree> => {
  const heads = headsUntil(api, tenant, last);
  return { heads, peaks: [], next: (await heads.next()).value as Head | undefined };
};

const writeHead = async (tree: WrittenTree, writer: ExportWriter): Promise<void> => {
  await writer.line('head', JSON.stringify({ ...tree.next, peaks: tree.peaks }));
  tree.next = (await tree.heads.next()).value as Head | undefined;
};

const writeHeadsBefore = async (trees: readonly WrittenTree[], position: Position, writer: ExportWriter): Promise<void> => {
  for (const tree of trees)
    while (tree.next && comparePositions(position, parseToken(tree.next.position)!) > 0) await writeHead(tree, writer);
};

/** Writes the entries that the last of these heads covers, and each head after its last entry. `last` has the last head of each tree. */
const writeEntries = async (api: RunnerApi, tenant: string, last: readonly Head[], writer: ExportWriter): Promise<void> => {
  const trees = await Promise.all(last.map((head) => openTree(api, tenant, head)));
  let count = 0;
  for await (const text of textsOf(api, `/tenant/${tenant}/events?limit=${EVENTS_PER_PAGE}`)) {
    await writeHeadsBefore(trees, positionOf(text), writer);
    if (trees.every(({ next }) => !next)) break;
    await writer.line('event', text);
    const digest = digestOf(text);
    for (const { peaks, next } of trees) if (next) addLeaf(peaks, count, next.version === 1 ? earlierLeaf(text, digest) : digest);
    count += 1;
  }
  for (const tree of trees) while (tree.next) await writeHead(tree, writer);
};

/** Undefined if there is none. @throws Refusal */
const newestHead = async (api: RunnerApi, tenant: string, version = 2): Promise<Head | undefined> =>
  (await api.get(z.array(Head), `/tenant/${tenant}/audit-logs/heads?version=${version}&sort=-size&limit=1`))[0];

/** Returns the last head of the earlier tree if the newest head covers all its entries. */
const earlierHead = async (api: RunnerApi, tenant: string, newest: Head): Promise<Head | undefined> => {
  const last = await newestHead(api, tenant, 1);
  return last && comparePositions(parseToken(last.position)!, parseToken(newest.position)!) <= 0 ? last : undefined;
};

/**
 * Waits until a head covers the newest entry that existed at the start of the call.
 * @throws Refusal, Error with a one-line message for the operator
 */
const headOverAll = async (api: RunnerApi, tenant: string): Promise<Head | undefined> => {
  const [entry] = await api.get(z.array(Entry), `/tenant/${tenant}/events?order=newest&limit=1`);
  for (let waited = 0; waited < MAX_WAIT_MS; waited += POLL_MS) {
    const head = await retryTransient(() => newestHead(api, tenant), NEVER);
    if (!entry || (head && comparePositions(parseToken(head.position)!, parseToken(entry.position)!) >= 0)) return head;
    await sleep(POLL_MS);
  }
  throw new Error('no head that covers the newest event was signed within ten minutes: is a worker running?');
};

/** `wait`: until an audit head covers the newest entry. `filter`: query parameters of the API; without any, exports all. */
export type ExportOptions = {
  readonly tenant: string | undefined;
  readonly to: string;
  readonly wait: boolean;
  readonly url: string;
  readonly key: string;
  readonly filter?: Readonly<Record<string, string>>;
};

const writeWhole = async (api: RunnerApi, tenant: string, newest: Head, to: string): Promise<void> => {
  const keys = await api.get(z.array(Key), `/tenant/${tenant}/audit-logs/keys`);
  const last = await earlierHead(api, tenant, newest);
  await writeExportFile(to, async (writer) => {
    const { size: entries, root, position } = newest;
    const earlier = last && { entries: last.size, root: last.root };
    await writer.line('manifest', JSON.stringify({ format: FORMAT, tenant_id: tenant, entries, root, position, earlier }));
    for (const one of keys) await writer.line('key', JSON.stringify(one));
    await writeEntries(api, tenant, last ? [last, newest] : [newest], writer);
  });
};

/**
 * Writes the entries that signed heads cover, with proofs and keys, and verifies the file. It contains only what the API key may read.
 * Returns the exit code: 1 if the export does not verify, 3 if it has no entries.
 * @throws Refusal, Error with a one-line message for the operator
 */
export const exportTenant = async ({ tenant: named, to, wait, url, key, filter = {} }: ExportOptions): Promise<number> => {
  if (named !== undefined && !isId25(named)) throw usageError('--tenant must be a tenant id');
  refuseExisting(to);
  const api = apiClient({ url, key, outage: createOutageReport(printError, 'the service answers again') });
  const tenant = named ?? (await api.tenant());
  const newest = await (wait ? headOverAll(api, tenant) : newestHead(api, tenant));
  if (!newest)
    throw new Error(
      'no head of this tenant is signed yet: the first one follows within seconds of its first events; try again, or add --wait',
    );
  if (Object.keys(filter).length === 0) await writeWhole(api, tenant, newest, to);
  else await saveExportFile(to, api.file(`/tenant/${tenant}/audit-logs/export?${new URLSearchParams({ ...filter, format: 'proofs' })}`));
  const found = await verifyAuditExport(to);
  for (const line of verificationLines(found, to)) printLine(line);
  const rest = wait ? '' : '; later ones follow with the next head, within five minutes: --wait waits for it';
  printLine(`written to ${to}: the entries up to the head signed at ${newest.at}${rest}`);
  return exitCodeOf(found);
};
