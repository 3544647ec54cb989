import { resolved } from '../fixtures/boundary-values.ts';
import type { Schema, Schemas } from '../fixtures/json-schema.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { createDataset } from './dataset.ts';
import type { PrincipalName } from './expected-access.ts';
import { type Call, callsOf, type Document } from './id-positions.ts';

/** The name of a field or query parameter that no operation has. */
export const UNKNOWN = 'zz_unknown';

export type Problem = { readonly code: string; readonly errors?: readonly { readonly pointer: string; readonly message: string }[] };

/** The callers to try. Each operation accepts at least one of them. */
export const WHO: readonly PrincipalName[] = ['owner', 'super-admin', 'runner'];

/** Returns a value for each query parameter that a call requires. */
export const requiredQuery = ({ parameters = [] }: Call): Record<string, string> =>
  Object.fromEntries(parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => [name, '0:0']));

/** Returns the JSON pointers of the errors in a response. */
export const pointersOf = ({ body }: Answer): string[] => ((body as Problem).errors ?? []).map(({ pointer }) => pointer);

/** The types of events that record the use of a credential or a refused access. Any request may append them. */
const INCIDENTAL_EVENTS = ['ApiKeyUsed', 'UserSeen', 'AccessRefused', 'AccessRefusalsCounted'];

/**
 * Starts a platform that has two tenants with one resource of every type. Returns it with all operations of the service,
 * and with functions that send valid calls of them. The caller closes the platform (`dataset`).
 */
export const startValidCalls = async () => {
  const dataset = await createDataset();
  const document = dataset.document as unknown as Document;
  const schemas = document.components.schemas as Schemas;
  /** All operations that accept a bearer credential. */
  const calls = callsOf(document);
  const { own } = dataset;

  /**
   * Returns the path of a call with ids of existing resources. Values in `replaced` are used instead for the path
   * parameters with their names.
   */
  const pathOf = ({ path, idPositions }: Call, replaced: Readonly<Record<string, string>> = {}): string =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const position = idPositions.find((one) => one.in === 'path' && one.name === name)!;
      return replaced[name] ?? encodeURIComponent(own[position.type]!);
    });

  /** Returns the schema of a call's JSON body, or null if the call has no JSON body. */
  const jsonSchemaOf = ({ requestBody }: Call): Schema | null => {
    const schema = requestBody?.content['application/json']?.schema as Schema | undefined;
    return schema ? resolved(schema, schemas) : null;
  };

  /** Returns ids of existing resources for the fields of a call's body. */
  const idsInBody = ({ idPositions }: Call): Record<string, string> =>
    Object.fromEntries(idPositions.filter((one) => one.in === 'body').map(({ name, type }) => [name, own[type]!]));

  /** All operations that accept a JSON body. */
  const callsWithBody = calls.flatMap((call) => {
    const schema = call.method === 'GET' ? null : jsonSchemaOf(call);
    return schema ? [{ call, schema }] : [];
  });

  const callers = new Map<string, PrincipalName>();

  /**
   * Returns the first caller in WHO who may use the operation. It sends each caller's request with an unknown field:
   * callers who may use the operation get 422 instead of 403 or 404.
   */
  const callerOf = async (call: Call): Promise<PrincipalName> => {
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

  /** Sends a call with this body as a caller who may use the operation. */
  const send = async (call: Call, body: unknown): Promise<Answer> =>
    dataset.send(call.method, pathOf(call), { key: dataset.keys[await callerOf(call)], body });

  /** Returns the number of events in the log. Events of the types in INCIDENTAL_EVENTS do not count. */
  const eventCount = (): number => dataset.log.events.filter(({ type }) => !INCIDENTAL_EVENTS.includes(type)).length;
  return { dataset, document, schemas, calls, callsWithBody, pathOf, jsonSchemaOf, idsInBody, callerOf, send, eventCount };
};
