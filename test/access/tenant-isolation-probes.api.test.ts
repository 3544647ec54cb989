// limit: 300
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer } from '../fixtures/in-memory-platform.ts';
import { seeded, type World } from '../two-tenants/dataset.ts';
import { PRINCIPALS, type PrincipalName, ruleFor } from '../two-tenants/expected-access.ts';
import { type Call, callsOf, type Document } from '../two-tenants/id-positions.ts';
import {
  ask,
  atHome,
  comparable,
  expected,
  isShownAll,
  leaked,
  misplaced,
  tellsMoment,
  told,
  type Variant,
  variantsOf,
} from '../two-tenants/probe.ts';
import { undeclared } from '../two-tenants/schema-check.ts';

/** Every allowed change as everybody who may, each in a world of its own; else as two of them, chosen by the seed. */
const WHOLE = process.env.TWO_TENANTS === 'whole';
/** The first fault ends it, and what may be changed is left out: enough to tell whether there is one. */
const FIRST = process.env.TWO_TENANTS === 'first';
const SEED = Number(process.env.SEED ?? Math.floor(Date.now() / 86_400_000));

/** What follows by itself from asking, whatever the answer. */
const BY_ITSELF = ['ApiKeyUsed', 'AccessRefused', 'AccessRefusalsCounted'];

/** In memory there is neither a broker that makes users nor a database to rebuild. */
const WITHOUT_DRIVERS: Record<string, number> = { issueRunnerCredential: 409 };
const withoutDrivers = ({ operationId, path }: Call): number | undefined =>
  path.startsWith('/admin/projections/{name}') ? 404 : WITHOUT_DRIVERS[operationId];

type Tried = { readonly call: Call; readonly variant: Variant; readonly who: PrincipalName; readonly answer: Answer };

const name = ({ call, variant, who }: Omit<Tried, 'answer'>): string => `${call.method} ${call.path} as ${who}, ${variant.label}`;

const faults: string[] = [];
const wrong = (tried: Omit<Tried, 'answer'>, why: string): void => {
  faults.push(`${name(tried)}: ${why}`);
  if (FIRST) assert.unreachable(faults[0]);
};

const isAllowed = (call: Call, variant: Variant, who: PrincipalName): boolean => expected(call, variant, who).includes(200);

const checkStatus = (tried: Tried): void => {
  const { call, variant, who, answer } = tried;
  if (variant.differs?.in === 'query') {
    if (answer.status >= 500) wrong(tried, `answers ${answer.status}`);
    return;
  }
  const wanted = expected(call, variant, who);
  const ok = wanted.includes(200) && (answer.status < 300 || answer.status === withoutDrivers(call));
  if (!ok && !wanted.includes(answer.status))
    wrong(tried, `answers ${answer.status} where ${wanted.join(' or ')} is right: ${answer.text}`);
};

const checkShape = (document: Document, tried: Tried): void => {
  if (tried.answer.status < 300)
    for (const field of undeclared(document, tried.call, tried.answer)) wrong(tried, `shows ${field}, undeclared`);
  if (/node_modules|\.ts:\d|select |insert into/i.test(tried.answer.text)) wrong(tried, 'tells what it is made of');
};

/** What every answer bears, whatever it says; nothing tells of what it is served by. */
const checkHeaders = (tried: Tried): void => {
  const { headers, status } = tried.answer;
  if (!headers.get('x-request-id') || headers.get('x-content-type-options') !== 'nosniff')
    wrong(tried, 'lacks a header that all answers have');
  if (!/no-store/.test(headers.get('cache-control') ?? (status === 204 ? 'no-store' : ''))) wrong(tried, 'may be stored');
  if (status === 401 && !headers.get('www-authenticate')) wrong(tried, 'does not say how to authenticate');
  if (headers.get('server') || headers.get('x-powered-by')) wrong(tried, 'names its maker');
};

/** What was appended since, but for what follows by itself. */
const appended = (world: World, since: number, { who, call }: { who: PrincipalName; call: Call }): string[] =>
  world.log.events
    .slice(since)
    .map(({ type }) => type)
    .filter((type) => !BY_ITSELF.includes(type) && !(type === 'SuperAdminRead' && who === 'guest' && call.method === 'GET'))
    .filter((type) => !(type === 'AuditExported' && call.operationId === 'exportAuditLogs'));

/** What a super-admin reads inside a tenant is an event that the tenant sees. */
const isVisit = ({ call, who, answer }: Tried): boolean => who === 'guest' && call.path.startsWith('/tenant/') && answer.status < 300;

/** Foreign ids, and ids of something else, answer as those that name nothing. */
const checkAlike = (world: World, answers: readonly Tried[]): void => {
  const toldBy = ({ call, variant, answer }: Tried): string => told(world, call, variant, answer);
  const missing = answers.find(({ variant }) => variant.label.endsWith('missing'));
  for (const other of answers)
    if (missing && !other.variant.label.endsWith('malformed') && toldBy(other) !== toldBy(missing))
      wrong(other, `answers ${toldBy(other)}, a missing one ${toldBy(missing)}`);
};

const groupOf = ({ differs, label }: Variant): string =>
  label.startsWith('everything') ? 'everything' : `${differs!.in} ${differs!.name}`;

let calls = 0;

const tryRefused = async (world: World, call: Call, who: PrincipalName): Promise<void> => {
  const tried: Tried[] = [];
  let now: Answer | undefined;
  for (const variant of variantsOf(call)) {
    const changes = call.method !== 'GET' && isAllowed(call, variant, who);
    if (changes || atHome(who, call, variant) || isShownAll(who, variant)) continue;
    if (tellsMoment(call, variant)) await world.stir();
    const before = world.log.events.length;
    calls++;
    const one = { call, variant, who, answer: await ask(world, call, variant, who) };
    const events = appended(world, before, one);
    if (events.length > 0) wrong(one, `${one.answer.status}, yet ${events.join(', ')} happened`);
    if (isVisit(one) && world.log.events.slice(before).every(({ type }) => type !== 'SuperAdminRead'))
      wrong(one, 'the tenant is told nothing of it');
    checkStatus(one);
    checkHeaders(one);
    checkShape(world.document as Document, one);
    now ??= one.answer;
    const moment = misplaced(world, call, variant, who, one.answer, now);
    if (moment) wrong(one, moment);
    const marks = leaked(world, call, variant, who, one.answer);
    if (marks.length > 0) wrong(one, `tells of the other tenant: ${marks.join(', ')}`);
    if (variant.differs && comparable(who, variant)) tried.push(one);
  }
  for (const group of Object.values(Object.groupBy(tried, ({ variant }) => groupOf(variant)))) checkAlike(world, group!);
};

const documentOf = (world: World): Document => world.document as unknown as Document;

/** The rows of everything but the audit log and what tells when keys were used. */
const rowsOf = (world: World): string =>
  JSON.stringify(
    ['agents', 'allowed_accounts', 'deliveries', 'integrations', 'models', 'plans', 'runner_credentials', 'users'].map((projection) => [
      ...world.memoryStore.rows(projection, projection === 'runner_credentials' ? 'runner_credentials' : projection).entries(),
    ]),
  );

test('nobody reaches, changes or learns of what is not theirs, wherever the id stands', async () => {
  const world = await seeded();
  const rows = rowsOf(world);
  for (const call of callsOf(documentOf(world))) for (const who of PRINCIPALS) await tryRefused(world, call, who);
  await world.waitForProjections();
  assert.is(rowsOf(world), rows, 'no row changed');
  assert.equal(world.unappliedEvents(), []);
  await world.close();
  console.log(`${calls} calls in one world`);
  assert.equal(faults.splice(0).slice(0, 40), []);
});

const sampled = <T>(all: readonly T[], index: number): readonly T[] =>
  WHOLE || all.length <= 2 ? all : [all[(SEED + index) % all.length]!, all[(SEED + index + 1) % all.length]!];

if (!FIRST)
  test('whoever may change something can', async () => {
    const first = await seeded();
    const changing = callsOf(documentOf(first)).filter(({ method }) => method !== 'GET');
    await first.close();
    const tried = changing.flatMap((call, index) => {
      const [variant] = variantsOf(call);
      const allowed = PRINCIPALS.filter((who) => isAllowed(call, variant!, who));
      if (allowed.length === 0) faults.push(`${call.method} ${call.path} is for nobody`);
      return sampled(allowed, index).map((who) => ({ call, variant: variant!, who }));
    });
    for (const one of tried) {
      const world = await seeded();
      const answer = await ask(world, one.call, one.variant, one.who);
      checkStatus({ ...one, answer });
      checkShape(documentOf(world), { ...one, answer });
      await world.close();
    }
    console.log(`${tried.length} allowed changes, each in a world of its own (seed ${SEED})`);
    assert.equal(faults.splice(0).slice(0, 40), []);
  });

test('no body takes a field that it does not name, and nothing happens by one that does', async () => {
  const world = await seeded();
  const document = documentOf(world);
  for (const call of callsOf(document).filter(({ requestBody }) => requestBody)) {
    const [variant] = variantsOf(call);
    const who = PRINCIPALS.find((one) => isAllowed(call, variant!, one))!;
    const before = world.log.events.length;
    const answer = await ask(world, call, variant!, who, { undeclared: 1 });
    const tried = { call, variant: variant!, who, answer };
    if (answer.status !== 422 || !answer.text.includes('/undeclared')) wrong(tried, `takes an unknown field: ${answer.status}`);
    const events = appended(world, before, tried);
    if (events.length > 0) wrong(tried, `${events.join(', ')} happened`);
  }
  await world.close();
  assert.equal(faults.splice(0), []);
});

test('the document names the permissions that each operation asks for', async () => {
  const world = await seeded();
  for (const { method, path, description = '' } of callsOf(documentOf(world))) {
    const { all, onDelivery } = ruleFor(method, path, description);
    for (const one of onDelivery ? ['agent:chat:read'] : all)
      if (one !== 'any') assert.ok(description.includes(`\`${one}\``), `${method} ${path} needs ${one}: ${description}`);
  }
  await world.close();
});

test('every route is in the document, and everything in the document is a route', async () => {
  const world = await seeded();
  const routes = world.app.routes
    .filter(({ path, method }) => method !== 'ALL' && path !== '/*')
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  const documented = Object.entries(documentOf(world).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.equal([...new Set(routes)].sort(), documented.sort());
  for (const path of ['/', '/api', '/api/v1', '/v1', '/tenant', '/admin', '/nowhere/at/all'])
    assert.is((await world.send('GET', path)).status, 404, path);
  await world.close();
});

test.run();
