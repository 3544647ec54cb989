import { resolved } from '../fixtures/boundary-values.ts';
import type { Schema, Schemas } from '../fixtures/json-schema.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { createDataset } from './dataset.ts';
import type { PrincipalName } from './expected-access.ts';
import { type Call, callsOf, type Document } from './id-positions.ts';

/** A field and a query parameter that no operation has. */
export const UNKNOWN = 'zz_unknown';

/** A platform with two tenants and a resource of every type, on which the calls of this file are sent. */
export const dataset = await createDataset();
export const document = dataset.document as unknown as Document;
export const schemas = document.components.schemas as Schemas;
/** All operations that accept a bearer credential. */
export const calls = callsOf(document);
const { own } = dataset;

export type Problem = { readonly code: string; readonly errors?: readonly { readonly pointer: string; readonly message: string }[] };

/** The path of a call, with the ids of existing resources. `replaced` has other values for some of its parameters. */
export const pathOf = ({ path, idPositions }: Call, replaced: Readonly<Record<string, string>> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const position = idPositions.find((one) => one.in === 'path' && one.name === name)!;
    return replaced[name] ?? encodeURIComponent(own[position.type]!);
  });

/** The schema of the JSON body of a call; null if it has none. */
export const jsonSchemaOf = ({ requestBody }: Call): Schema | null => {
  const schema = requestBody?.content['application/json']?.schema as Schema | undefined;
  return schema ? resolved(schema, schemas) : null;
};

/** The ids of existing resources for the fields of the body of a call. */
export const idsInBody = ({ idPositions }: Call): Record<string, string> =>
  Object.fromEntries(idPositions.filter((one) => one.in === 'body').map(({ name, type }) => [name, own[type]!]));

/** All operations that accept a JSON body. */
export const callsWithBody = calls.flatMap((call) => {
  const schema = call.method === 'GET' ? null : jsonSchemaOf(call);
  return schema ? [{ call, schema }] : [];
});

/** The callers of whom one may use each operation. */
export const WHO: readonly PrincipalName[] = ['owner', 'super-admin', 'runner'];
const callers = new Map<string, PrincipalName>();

/**
 * The first of these callers who may use the operation: a request with an unknown field gets 422, and not 403 or 404.
 */
export const callerOf = async (call: Call): Promise<PrincipalName> => {
  const known = callers.get(call.operationId);
  if (known) return known;
  for (const who of WHO) {
    const isRead = call.method === 'GET';
    const { status } = await dataset.send(call.method, isRead ? `${pathOf(call)}?${UNKNOWN}=1` : pathOf(call), {
      key: dataset.keys[who],
      ...(isRead ? {} : { body: { ...idsInBody(call), [UNKNOWN]: 1 } }),
    });
    if (status !== 422) continue;
    callers.set(call.operationId, who);
    return who;
  }
  throw new Error(`nobody of ${WHO.join(', ')} may use ${call.operationId}`);
};

/** Sends a call with this body, as a caller who may use the operation. */
export const send = async (call: Call, body: unknown): Promise<Answer> =>
  dataset.send(call.method, pathOf(call), { key: dataset.keys[await callerOf(call)], body });

/** The JSON pointers of the errors in a response. */
export const pointersOf = ({ body }: Answer): string[] => ((body as Problem).errors ?? []).map(({ pointer }) => pointer);

/** The types of events that record the use of a credential or a refused access. Any request may append them. */
const INCIDENTAL_EVENTS = ['ApiKeyUsed', 'UserSeen', 'AccessRefused', 'AccessRefusalsCounted'];

/** The number of events in the log, without those of INCIDENTAL_EVENTS. */
export const eventCount = (): number => dataset.log.events.filter(({ type }) => !INCIDENTAL_EVENTS.includes(type)).length;
