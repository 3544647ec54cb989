import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { openapi } from '../../api/http/openapi.ts';
import { listen } from '../../infra/http/listen.ts';
import { namedIn, pathOf, type Resources } from '../architecture/existing-resources.ts';
import { launchChromium } from '../fixtures/chromium.ts';
import { type ConsolePlatform, deliver } from '../fixtures/console-platform.ts';
import { createRunner } from '../fixtures/console-sessions.ts';
import { HOSTILE_TEXTS } from '../fixtures/hostile-texts.ts';
import { arbitraryOf, type Schema, type Schemas } from '../fixtures/json-schema.ts';
import { startWholeConsole } from './whole-console.ts';

type Described = { operationId: string; requestBody?: { content: Record<string, { schema: Schema }> } };
type Document = { paths: Record<string, Record<string, Described>>; components: { schemas: Schemas } };

/** Operations after which the resources of the other requests would not exist any more, or could not be read. */
const ENDS = /^(?:close|erase|suspend|clone|transfer|sign|complete|fail)/;

const resolved = (schema: Schema, schemas: Schemas): Schema =>
  schema.$ref ? resolved(schemas[schema.$ref.split('/').at(-1)!]!, schemas) : schema;

/** Whether every text is allowed in a field, apart from its length. */
const isFreeText = ({ type, pattern, format, enum: values }: Schema): boolean =>
  [type].flat().includes('string') && !pattern && !format && !values;

/** Returns the names of the free text fields in a schema, at any depth, with their maximum length. */
const freeTexts = (
  unresolved: Schema,
  schemas: Schemas,
  name = '',
  path: readonly Schema[] = [],
): readonly (readonly [string, number])[] => {
  const schema = resolved(unresolved, schemas);
  if (path.includes(schema)) return [];
  const inner = (one: Schema, of: string) => freeTexts(one, schemas, of, [...path, schema]);
  return [
    ...(name !== '' && isFreeText(schema) ? [[name, schema.maxLength ?? 1_000] as const] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([field, one]) => inner(one, field)),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((one) => inner(one, name)),
    ...(schema.items ? inner(schema.items, '') : []),
  ];
};

const shortened = (text: string, max: number): string => [...text].slice(0, max).join('');

export type Attack = { readonly operation: string; readonly fields: readonly string[]; readonly accepted: number };

/**
 * Sends each of the texts in every free text field of every operation that changes something. The other fields have
 * suitable values. Each request must be accepted, or refused for a reason. Returns how many were accepted, by operation.
 * `textsFor` chooses the texts for an operation.
 */
export const attackOperations = async (
  p: ConsolePlatform,
  of: Resources,
  textsFor: (operation: string) => readonly string[] = () => HOSTILE_TEXTS,
): Promise<readonly Attack[]> => {
  const { paths, components } = JSON.parse(JSON.stringify(openapi(p.operations, {}, 'http://annals.test'))) as Document;
  const { schemas } = components;
  const known = namedIn(of);
  const runner = await createRunner(p, of.agent);
  const attacks: Attack[] = [];
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { operationId, requestBody }] of Object.entries(methods)) {
      const schema = requestBody?.content['application/json']?.schema;
      const fields = schema ? freeTexts(schema, schemas).filter(([name]) => known(name) === undefined) : [];
      if (!schema || fields.length === 0 || ENDS.test(operationId)) continue;
      const lengths = new Map(fields);
      let accepted = 0;
      for (const text of textsFor(operationId)) {
        const named = (name: string) => known(name) ?? (lengths.has(name) ? fc.constant(shortened(text, lengths.get(name)!)) : undefined);
        const [body] = fc.sample(arbitraryOf(schema, schemas, named), { seed: HOSTILE_TEXTS.indexOf(text) + 1, numRuns: 1 });
        const send = (key: string) => p.send(method.toUpperCase(), pathOf(p, path, of), { key, body });
        const first = await send(p.key);
        const answer = first.status === 403 ? await send(runner) : first;
        assert.ok(answer.status < 500, `${operationId} ${JSON.stringify(body)}: ${answer.text}`);
        if (answer.status < 300) accepted++;
      }
      attacks.push({ operation: operationId, fields: fields.map(([name]) => name), accepted });
    }
  return attacks;
};

/** Sends deliveries whose event names, headers and payloads contain each hostile text, with a right and a forged signature. */
export const attackWebhook = async (p: ConsolePlatform, integration: string, texts = HOSTILE_TEXTS): Promise<void> => {
  for (const text of texts) {
    const isHeader = /^[\x20-\x7e]*$/.test(text);
    const headers: Record<string, string> = isHeader ? { 'user-agent': text, 'x-request-id': text } : {};
    const payload = { [text]: text, repository: { full_name: text }, sender: { login: text }, action: text, nested: [{ [text]: [text] }] };
    for (const signature of [undefined, 'sha256=forged'])
      await deliver(p, integration, isHeader ? text : 'push', payload, { headers, ...(signature ? { signature } : {}) });
  }
};

/** The texts that a browser would run if a page did not escape them, and one that is wider than a narrow window. */
const TEXTS_FOR_BROWSERS = HOSTILE_TEXTS.filter((text) => /<(?:script|img|svg)|onmouseover|^javascript:|^W+$/.test(text));

/** Starts the platform with hostile texts in every field, and a browser. */
export const openHostileConsole = async () => {
  const whole = await startWholeConsole();
  await attackOperations(whole.p, whole.of, () => TEXTS_FOR_BROWSERS);
  await attackWebhook(whole.p, whole.of.hook);
  await whole.p.waitForProjections();
  const server = await listen(whole.p.app, { host: '127.0.0.1', port: 0 });
  const browser = await launchChromium(server.port);
  const close = async (): Promise<void> => {
    await browser.close();
    await whole.close();
    await server.close();
  };
  return { ...whole, browser, close };
};
