import type { Target } from '../../api/http/ask.ts';

export type ApiTarget = Target & {
  readonly isForm: boolean;
  /** What a successful response contains: JSON, nothing, or something that the caller reads, such as a file or a stream. */
  readonly reply: 'json' | 'nothing' | 'response';
  /** Whether a repeat with the same Idempotency-Key has no second effect. */
  readonly takesKey: boolean;
  readonly takesToken: boolean;
  readonly takesAsOf: boolean;
};

type Parameter = { readonly $ref?: string; readonly name?: string; readonly in?: string };
type Content = { readonly content?: Readonly<Record<string, unknown>> };
type Described = {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
};

export type ApiDocument = { readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>> };

const hasParameter = (parameters: readonly Parameter[], header: string): boolean =>
  parameters.some(({ $ref, name }) => name === header || $ref?.endsWith(`/${header.replaceAll('-', '')}`));

const replyOf = (responses: Described['responses']): ApiTarget['reply'] => {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const types = successes.flatMap(([, { content = {} }]) => Object.keys(content));
  if (types.includes('application/json')) return 'json';
  return types.length > 0 || successes.length === 0 ? 'response' : 'nothing';
};

const targetOf = (method: string, path: string, { parameters = [], requestBody, responses }: Described): ApiTarget => {
  const inQuery = parameters.filter((one) => one.in === 'query').map(({ name }) => name!);
  return {
    method,
    path: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    query: method === 'get' ? null : inQuery,
    hasBody: requestBody !== undefined,
    isForm: Object.hasOwn(requestBody?.content ?? {}, 'multipart/form-data'),
    reply: replyOf(responses),
    takesKey: hasParameter(parameters, 'Idempotency-Key'),
    takesToken: hasParameter(parameters, 'Consistency-Token'),
    takesAsOf: inQuery.includes('as_of'),
  };
};

/** Returns the operations of an OpenAPI document by their ids. */
export const targetsIn = ({ paths }: ApiDocument): ReadonlyMap<string, ApiTarget> =>
  new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => [described.operationId, targetOf(method, path, described)] as const),
    ),
  );
