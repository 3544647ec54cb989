// share, limit: 240
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { formOf, topFields } from '../../api/console/forms/form.ts';
import { bodyFields } from '../../api/console/forms/form-fields.ts';
import { htmlOf, tags } from '../../api/console/parts/tags.ts';
import { openapi } from '../../api/http/openapi.ts';
import type { Operation } from '../../api/http/operation.ts';
import { PLATFORM } from '../../domain/event.ts';
import { namedIn } from '../architecture/existing-resources.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { submittedBy } from '../fixtures/html-form.ts';
import { arbitraryOf, type Schema, type Schemas } from '../fixtures/json-schema.ts';
import { openShare } from '../fixtures/share.ts';
import { startWholeConsole } from './whole-console.ts';

const share = openShare();
const { p, of, forms, close } = await startWholeConsole();

type Described = { operationId: string; requestBody?: { content: Record<string, { schema: Schema }> } };
type Document = { paths: Record<string, Record<string, Described>>; components: { schemas: Schemas } };

const { paths, components } = JSON.parse(JSON.stringify(openapi(p.operations, {}, 'http://annals.test'))) as Document;
const described = new Map(Object.values(paths).flatMap((methods) => Object.values(methods).map((one) => [one.operationId, one])));
const known = namedIn(of);

const ATTEMPTS = 6;
/** Operations that remove a resource of other forms. They come last. */
const ENDS = /^(?:close|delete|remove|revoke|disconnect|end)/;
/** Operations that end the tenant or the access of the tester. Other tests try their forms. */
const LAST = /^(?:closeTenant|eraseTenant|suspendTenant)$/;

/** Returns a random body that an operation accepts in principle; undefined if it has no body. */
const bodyFor = (operation: string, seed: number): unknown => {
  const schema = described.get(operation)?.requestBody?.content['application/json']?.schema;
  return schema && fc.sample(arbitraryOf(schema, components.schemas, known), { seed, numRuns: 1 })[0];
};

/** Returns the form fields that a browser submits for a request with this body. */
const fieldsFor = (row: Operation, url: string, body: unknown): Record<string, string> => {
  const form = formOf(row);
  const typed = topFields(form).flatMap(({ isSecret, name, kind, pointer }) => {
    const value = (body as Record<string, unknown> | undefined)?.[name];
    return isSecret && value !== undefined ? [[pointer, kind === 'json' ? JSON.stringify(value) : String(value)]] : [];
  });
  const html = htmlOf(tags.form(null, ...bodyFields(form.body, body, { errors: new Map(), choices: {} })), '/assets');
  const params = [...new URL(url, 'http://annals.test').searchParams].map(([name, value]) => [`:${name}`, value]);
  return Object.fromEntries([...params, ['_key', crypto.randomUUID()], ...submittedBy(html, Object.fromEntries(typed))]);
};

/** Fills in and submits the form of an operation until it is accepted. @returns the events that it has recorded */
const submitForm = async (operation: string, url: string) => {
  for (let seed = 1; seed <= ATTEMPTS; seed++) {
    const before = p.log.events.length;
    const fields = fieldsFor(p.operations[operation]!, url, bodyFor(operation, seed));
    const { status, text } = await p.submit(`/console/run/${operation}`, fields);
    assert.ok(status < 500, `${operation} ${JSON.stringify(fields)}: ${text.slice(0, 300)}`);
    if (status < 400) return p.log.events.slice(before);
  }
  return [];
};

/** Returns the sentences of an audit page, by the ids of their events. */
const sentencesOn = async (path: string): Promise<ReadonlyMap<string, readonly string[]>> => {
  const { text } = await p.open(path);
  const entries = [...text.matchAll(/data-kind="audit" data-id="([^"]+)"[\s\S]*?class="sentence">([\s\S]*?)<\/div>/g)];
  return new Map(
    Map.groupBy(entries, (found) => found[1]!)
      .entries()
      .map(([id, found]) => [id, found.map((one) => one[2]!.replaceAll(/<[^>]*>/g, ''))]),
  );
};

/** Events that no audit log shows. */
const HIDDEN = /^IdempotencyKey/;
/** The part of all forms that change something. The others do not accept the random bodies. */
const MIN_CHANGING = 0.5;

share.test('whatever a form changes, the audit log has one sentence about it, which names the person', async () => {
  const tried = share.casesOf(
    forms.filter(({ name }) => !LAST.test(name)),
    ({ name }) => name,
  );
  const sorted = tried.toSorted((one, other) => Number(ENDS.test(one.name)) - Number(ENDS.test(other.name)));
  const wrong: string[] = [];
  const changing = new Set<string>();
  for (const { name, url } of sorted) {
    const recorded = (await submitForm(name, url)).filter(({ type }) => !HIDDEN.test(type));
    await p.waitForProjections();
    const logs =
      recorded.length > 0 ? await Promise.all([`${p.base}/audit?by=all&runs=open`, '/console/platform/audit-logs'].map(sentencesOn)) : [];
    for (const { type, event_id, actor, meta } of recorded) {
      // The owner of a new tenant sees its first entries in the audit log of that tenant.
      const isElsewhere = name === 'createTenant' && ![p.tenant_id, PLATFORM].includes(meta.tenant);
      const sentences = logs.flatMap((log) => log.get(event_id) ?? []);
      // An event of the tenant that the platform shows, too, has the same sentence there.
      const isNamed = new Set(sentences).size === 1 && (actor.kind !== 'user' || sentences[0]!.startsWith('Administrator '));
      if (!isNamed && !isElsewhere) wrong.push(`${name}, ${type}: ${JSON.stringify(sentences)}`);
      changing.add(name);
    }
  }
  assert.equal(wrong, []);
  assert.ok(
    changing.size > (share.isWhole ? tried.length * MIN_CHANGING : 0),
    `only ${changing.size} of ${tried.length} forms changed something`,
  );
});

afterLastTest(close);

test.run();
