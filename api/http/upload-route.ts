import type { z } from 'zod';
import { jsonContentOf } from './example.ts';
import { type Schemas, schemaOf } from './json-schema.ts';
import type { ParseForm } from './multipart-body.ts';
import type { Operation } from './operation.ts';
import { type PlainRoute, plainRoute } from './plain-route.ts';

/** The name of the form field that contains the file. */
export const UPLOAD_FIELD = 'upload';

/**
 * What upload routes need from infra/. `withSlot` limits how many uploads are handled at the same time, because some
 * are in memory as a whole.
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
type UploadRoute<Deps, Id extends string, Path extends string, Reply, Field extends string, Optional, Texts> = Pick<
  PlainRoute<Deps>,
  'description' | 'tag' | 'handler'
> & {
  readonly operationId: Id;
  readonly row: Pick<Operation, 'method' | 'summary' | 'status' | 'noETag'> & { readonly path: Path; readonly reply?: Reply };
  /** The name of the form field that contains the file; `upload` if absent. */
  readonly field?: Field;
  /** Set if the form need not contain the file. */
  readonly isFileOptional?: Optional;
  readonly file: string;
  readonly answer: string;
  readonly texts?: Texts;
};

/** The schema of the form, which gives clients the types of its fields. */
type FormOf<Field extends string, Optional, Texts> = z.ZodType<
  unknown,
  (Optional extends true ? { readonly [Name in Field]?: Blob } : { readonly [Name in Field]: Blob }) &
    (Texts extends z.ZodType ? z.input<Texts> : unknown)
>;

type TextsSchema = { readonly properties?: object; readonly required?: readonly string[] };

const PROBLEMS = [400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 429, 503];
const header = { schema: { type: 'string' } };

/** Defines an upload route. It is in no table of operations, because its body is not JSON. */
export const uploadRoute = <
  Deps,
  const Id extends string,
  const Path extends string,
  Reply extends z.ZodType,
  const Field extends string = typeof UPLOAD_FIELD,
  Optional extends true | undefined = undefined,
  Texts extends z.ZodObject | undefined = undefined,
>({
  row,
  field = UPLOAD_FIELD as Field,
  isFileOptional,
  file,
  answer,
  texts,
  ...route
}: UploadRoute<Deps, Id, Path, Reply, Field, Optional, Texts>) => {
  const status = row.status ?? 200;
  const { properties: fields = {}, required = [] } = (texts ? schemaOf(texts, 'input', {}) : {}) as TextsSchema;
  return plainRoute<Deps, Id, Path, undefined, FormOf<Field, Optional, Texts>, Reply>({
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
