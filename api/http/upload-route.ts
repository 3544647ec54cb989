import type { z } from 'zod';
import { jsonContentOf } from './example.ts';
import { type Schemas, schemaOf } from './json-schema.ts';
import type { ParseForm } from './multipart-body.ts';
import type { Operation } from './operation.ts';
import { type PlainRoute, plainRoute } from './plain-route.ts';

/** The name of the form field that contains the file. */
export const UPLOAD_FIELD = 'upload';

/**
 * The functions that upload routes need from infra/. `withSlot` limits how many uploads are handled at the same time,
 * because some are held in memory as a whole.
 */
export type UploadDeps = {
  readonly parseForm: ParseForm;
  readonly withSlot: <T>(tenant: string, handle: () => Promise<T>) => Promise<T>;
};

/** The schemas of the responses to uploads, by name, for the OpenAPI document. */
export const UPLOAD_SCHEMAS: Schemas = {};

/**
 * A route whose request body is a form with one file. `file` describes the file, and `answer` describes the response,
 * both for the OpenAPI document. The fields of `texts` are the other fields of the form.
 */
type UploadRoute<Deps> = Pick<PlainRoute<Deps>, 'operationId' | 'description' | 'tag' | 'handler'> & {
  readonly row: Pick<Operation, 'method' | 'path' | 'summary' | 'reply' | 'status' | 'noETag'>;
  /** The name of the form field that contains the file. By default, `upload`. */
  readonly field?: string;
  /** Set if the form need not contain the file. */
  readonly isFileOptional?: true;
  readonly file: string;
  readonly answer: string;
  readonly texts?: z.ZodObject;
};

type TextsSchema = { readonly properties?: object; readonly required?: readonly string[] };

const PROBLEMS = [400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 429, 503];
const header = { schema: { type: 'string' } };

/** Defines an upload route. It is in no table of operations, because its body is not JSON. */
export const uploadRoute = <Deps>({
  row,
  field = UPLOAD_FIELD,
  isFileOptional,
  file,
  answer,
  texts,
  ...route
}: UploadRoute<Deps>): PlainRoute<Deps> => {
  const status = row.status ?? 200;
  const { properties: fields = {}, required = [] } = (texts ? schemaOf(texts, 'input', {}) : {}) as TextsSchema;
  return plainRoute<Deps, string>({
    ...route,
    method: row.method,
    path: row.path,
    summary: row.summary,
    parameters: row.method === 'post' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : [],
    requestBody: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: {
            type: 'object',
            required: [...(isFileOptional ? [] : [field]), ...required],
            properties: { [field]: { type: 'string', format: 'binary', description: file }, ...fields },
            additionalProperties: false,
          },
          example: { [field]: 'the bytes of the file', ...Object.fromEntries(required.map((name) => [name, '1.2.0'])) },
        },
      },
    },
    responses: {
      [status]: {
        description: answer,
        headers: { ...(status === 201 ? { Location: header } : {}), ...(row.noETag ? {} : { ETag: header }) },
        content: jsonContentOf(row.reply!, 'output', UPLOAD_SCHEMAS),
      },
    },
    problems: PROBLEMS,
  });
};
