// share, limit: 300
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openShare } from '../fixtures/share.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { createDataset, type Dataset } from '../two-tenants/dataset.ts';
import { PRINCIPALS, type PrincipalName } from '../two-tenants/expected-access.ts';
import { type Call, callsOf, type Document } from '../two-tenants/id-positions.ts';
import {
  expectedStatuses,
  isComparable,
  isSiblingFilter,
  positionError,
  sendProbe,
  showsPosition,
  type Variant,
  variantsOf,
} from '../two-tenants/probe.ts';
import { type Case, casesOf, isAllowed, kindOf, nameOfCase, repeatedKindOf } from '../two-tenants/probe-cases.ts';
import { leakedMarks, observableParts } from '../two-tenants/probe-response.ts';
import { schemaFaults } from '../two-tenants/schema-check.ts';

const share = openShare();

/**
 * If true, the test stops at the first failure and does not try the allowed changes. The program mutation-run.ts sets
 * this, because it needs to know only whether any probe fails.
 */
const STOP_AT_FIRST = process.env.TEST_STOP_AT_FIRST === '1';

/** The types of events that any request may append, whether it succeeds or is refused. */
const INCIDENTAL_EVENTS = ['ApiKeyUsed', 'AccessRefused', 'AccessRefusalsCounted'];

/** The read operations that append an event when they succeed, each with the type of that event. */
const EVENTS_OF_READS: Readonly<Record<string, string>> = {
  exportAuditLogs: 'AuditExported',
  readAgentSkillConfig: 'SkillConfigDisclosed',
  getAgentRuntime: 'RuntimeDisclosed',
  listMemory: 'MemoryDisclosed',
  getMemoryEntry: 'MemoryDisclosed',
};

/**
 * The operations that need the message broker, which this test does not start, or a session that has ended. Each is
 * listed with the status of its response.
 */
const STATUS_WITHOUT_DRIVERS: Record<string, number> = { issueRunnerCredential: 409, continueSession: 409 };
const statusWithoutDrivers = ({ operationId, path }: Call): number | undefined =>
  path.startsWith('/admin/projections/{name}') ? 404 : STATUS_WITHOUT_DRIVERS[operationId];

type Probe = { readonly call: Call; readonly variant: Variant; readonly who: PrincipalName; readonly answer: Answer };

const nameOf = ({ call, variant, who }: Omit<Probe, 'answer'>): string => `${call.method} ${call.path} as ${who}, ${variant.label}`;

const failures: string[] = [];
const fail = (probe: Omit<Probe, 'answer'>, why: string): void => {
  failures.push(`${nameOf(probe)}: ${why}`);
  if (STOP_AT_FIRST) assert.unreachable(failures[0]);
};

const hasSucceeded = (call: Call, { status }: Answer): boolean => status < 300 || status === statusWithoutDrivers(call);

const checkStatus = (probe: Probe): void => {
  const { call, variant, who, answer } = probe;
  if (variant.differs?.in === 'query' && !isSiblingFilter(variant)) {
    if (answer.status >= 500) fail(probe, `answers ${answer.status}`);
    return;
  }
  const allowedStatuses = expectedStatuses(call, variant, who);
  const ok = allowedStatuses.includes(200) && hasSucceeded(call, answer);
  if (!ok && !allowedStatuses.includes(answer.status))
    fail(probe, `answers ${answer.status} instead of ${allowedStatuses.join(' or ')}: ${answer.text}`);
};

const checkShape = (document: Document, probe: Probe): void => {
  if (probe.answer.status < 300)
    for (const fault of schemaFaults(document, probe.call, probe.answer)) fail(probe, `does not match its schema: ${fault}`);
  if (/node_modules|\.ts:\d|select |insert into/i.test(probe.answer.text)) fail(probe, 'reveals implementation details');
};

/**
 * Checks that a response has the headers that every response must have, and no header that names the server's software.
 */
const checkHeaders = (probe: Probe): void => {
  const { headers, status } = probe.answer;
  if (!headers.get('x-request-id') || headers.get('x-content-type-options') !== 'nosniff')
    fail(probe, 'lacks a header that all responses have');
  if (!/no-store/.test(headers.get('cache-control') ?? (status === 204 ? 'no-store' : ''))) fail(probe, 'may be cached');
  if (status === 401 && !headers.get('www-authenticate')) fail(probe, 'does not say how to authenticate');
  if (headers.get('server') || headers.get('x-powered-by')) fail(probe, 'names the software of the server');
};

/**
 * Returns the types of the events that were appended after the first `since` events. Two kinds of events are left out:
 * those that every request may append, and those that only record the read.
 */
const appendedEvents = (dataset: Dataset, since: number, { who, call }: { who: PrincipalName; call: Call }): string[] =>
  dataset.log.events
    .slice(since)
    .map(({ type }) => type)
    .filter((type) => !INCIDENTAL_EVENTS.includes(type) && !(type === 'SuperAdminRead' && who === 'guest' && call.method === 'GET'))
    .filter((type) => type !== EVENTS_OF_READS[call.operationId]);

/**
 * Returns whether this probe is a successful read by a super-admin with temporary access to the tenant. Such a read
 * must be recorded in the tenant's audit log.
 */
const isSuperAdminRead = ({ call, who, answer }: Probe): boolean =>
  who === 'guest' && /^\/(tenant|v1\/tenants)\//.test(call.path) && answer.status < 300;

/**
 * Checks that an id of another tenant, or of a resource of another type, gets the same response as an id that does not
 * exist.
 */
const checkSameAsMissing = (dataset: Dataset, answers: readonly Probe[]): void => {
  const summaryOf = ({ call, variant, answer }: Probe): string => observableParts(dataset, call, variant, answer);
  const missing = answers.find(({ variant }) => variant.label.endsWith('missing'));
  for (const other of answers)
    if (missing && !other.variant.label.endsWith('malformed') && summaryOf(other) !== summaryOf(missing))
      fail(other, `answers ${summaryOf(other)}, but a missing one ${summaryOf(missing)}`);
};

let calls = 0;

const probeRefused = async (dataset: Dataset, { call, who, variants }: Case): Promise<void> => {
  const probes: Probe[] = [];
  let now: Answer | undefined;
  for (const variant of variants) {
    if (showsPosition(call, variant)) await dataset.changeOtherTenant();
    const before = dataset.log.events.length;
    calls++;
    const probe = { call, variant, who, answer: await sendProbe(dataset, call, variant, who) };
    const events = appendedEvents(dataset, before, probe);
    if (events.length > 0) fail(probe, `answers ${probe.answer.status}, but appended ${events.join(', ')}`);
    if (isSuperAdminRead(probe) && dataset.log.events.slice(before).every(({ type }) => type !== 'SuperAdminRead'))
      fail(probe, 'the read is not recorded for the tenant');
    checkStatus(probe);
    checkHeaders(probe);
    checkShape(dataset.document as Document, probe);
    now ??= probe.answer;
    const moment = positionError(dataset, call, variant, who, probe.answer, now);
    if (moment) fail(probe, moment);
    const marks = leakedMarks(dataset, call, variant, who, probe.answer);
    if (marks.length > 0) fail(probe, `reveals data that the caller must not see: ${marks.join(', ')}`);
    if (variant.differs && isComparable(who, variant)) probes.push(probe);
  }
  checkSameAsMissing(dataset, probes);
};

/**
 * Returns all operations, with those that read the audit log first. Later, the audit log contains the ids that the
 * probes of this test have sent, and the test would take these ids for leaked ones.
 */
const callsInOrder = (document: Document): Call[] => {
  const readsAuditLog = ({ path }: Call): boolean => /\/audit-logs(\/|$)/.test(path);
  return callsOf(document).sort((a, b) => Number(readsAuditLog(b)) - Number(readsAuditLog(a)));
};

const documentOf = (dataset: Dataset): Document => dataset.document as unknown as Document;

/** Matches what any request changes in the row of its user: when the user was last active, and by which event. */
const LAST_ACTIVE = /\\?"(?:last_login_at|touched)\\?":(?:null|\\?"[^"\\]*\\?")/g;

/**
 * Returns the rows of these projections as text. The projections of the audit log and of API keys are not included,
 * because any request may change them: refusals are recorded, and so is the last use of a key.
 */
const rowsOf = (dataset: Dataset): string =>
  JSON.stringify(
    [
      'agents',
      'allowed_accounts',
      'deliveries',
      'integrations',
      'models',
      'plans',
      'runner_credentials',
      'sessions',
      'skills',
      'users',
    ].map((projection) => [...dataset.foldedRows(projection, projection).entries()]),
  ).replaceAll(LAST_ACTIVE, '');

share.test('a request with the id of an inaccessible resource is refused, and does not reveal whether the resource exists', async () => {
  const dataset = await createDataset();
  const rows = rowsOf(dataset);
  const cases = share.oneOfEachKind(callsInOrder(documentOf(dataset)).flatMap(casesOf), nameOfCase, repeatedKindOf);
  for (const one of share.casesOf(cases, nameOfCase, kindOf)) await probeRefused(dataset, one);
  await dataset.waitForProjections();
  assert.is(rowsOf(dataset), rows, 'no row changed');
  assert.equal(dataset.unappliedEvents(), []);
  await dataset.close();
  console.log(`${calls} calls on one platform`);
  assert.equal(failures.splice(0).slice(0, 40), []);
});

/** Returns how much an operation removes that other operations need. */
const removalRank = ({ method, operationId }: Call): number => {
  if (/^(?:close|erase|suspend)Tenant$/.test(operationId)) return 3;
  if (method === 'DELETE') return 2;
  return /^(?:cancel|complete|fail|transfer|end)/.test(operationId) ? 1 : 0;
};

/** Returns the operations that change something. Those that remove something come last, so that few changes prevent others. */
const changingCalls = (document: Document): Call[] =>
  callsOf(document)
    .filter(({ method }) => method !== 'GET')
    .sort((a, b) => removalRank(a) - removalRank(b) || (removalRank(a) === 2 ? b.path.length - a.path.length : 0));

type Change = { readonly call: Call; readonly variant: Variant; readonly who: PrincipalName };

/**
 * Returns the changes that callers may make. What one caller has removed, another one can remove only on a new platform.
 * So the operations that remove something come in rounds: each round has the next caller of each of them.
 */
const allowedChanges = (document: Document): Change[] =>
  changingCalls(document)
    .flatMap((call) => {
      const variant = variantsOf(call)[0]!;
      const allowed = PRINCIPALS.filter((who) => isAllowed(call, variant, who));
      if (allowed.length === 0) failures.push(`${call.method} ${call.path} is allowed for no principal`);
      const chosen = share.casesOf(allowed, (who) => `${call.operationId} ${who}`);
      return chosen.map((who, index) => ({ call, variant, who, round: removalRank(call) === 0 ? 0 : index }));
    })
    .sort((a, b) => a.round - b.round);

if (!STOP_AT_FIRST)
  share.test('each operation that changes something succeeds for every caller who has the permission for it', async () => {
    const first = await createDataset();
    const probes = allowedChanges(documentOf(first));
    // A change can prevent a later one, for example by deleting what that one changes. So the changes that do not succeed are
    // made again on a new platform, until all have succeeded. The first change on a platform must succeed.
    let [dataset, platforms] = [first, 1];
    for (let waiting = probes; waiting.length > 0; ) {
      const prevented: Change[] = [];
      for (const [index, { call, variant, who }] of waiting.entries()) {
        const answer = await sendProbe(dataset, call, variant, who);
        if (index > 0 && !hasSucceeded(call, answer)) {
          prevented.push({ call, variant, who });
          continue;
        }
        checkStatus({ call, variant, who, answer });
        checkShape(documentOf(dataset), { call, variant, who, answer });
      }
      waiting = prevented;
      if (waiting.length === 0) break;
      await dataset.close();
      dataset = await createDataset();
      platforms++;
    }
    await dataset.close();
    console.log(`${probes.length} allowed changes on ${platforms} platforms`);
    assert.equal(failures.splice(0).slice(0, 40), []);
  });

test.run();
