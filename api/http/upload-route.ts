import { jsonContentOf } from './example.ts';
import type { Operation } from './operation.ts';
import { type PlainRoute, plainRoute } from './plain-route.ts';

/** The name of the form field with the file. */
export const UPLOAD_FIELD = 'upload';

/** A route whose body is a form with one file. `file` and `created` describe the file and the resource made of it. */
type UploadRoute<Deps> = Pick<PlainRoute<Deps>, 'operationId' | 'description' | 'tag' | 'handler'> & {
  readonly row: Pick<Operation, 'path' | 'summary' | 'reply'>;
  readonly file: string;
  readonly created: string;
};

/** Defines the route of an upload. It is not in a table of operations, because its body is no JSON. */
export const uploadRoute = <Deps>({ row, file, created, ...route }: UploadRoute<Deps>): PlainRoute<Deps> =>
  plainRoute<Deps, string>({
    ...route,
    method: 'post',
    path: row.path,
    summary: row.summary,
    parameters: [{ $ref: '#/components/parameters/IdempotencyKey' }],
    requestBody: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: {
            type: 'object',
            required: [UPLOAD_FIELD],
            properties: { [UPLOAD_FIELD]: { type: 'string', format: 'binary', description: file } },
            additionalProperties: false,
          },
          example: { [UPLOAD_FIELD]: 'the bytes of the file' },
        },
      },
    },
    responses: {
      201: {
        description: created,
        headers: { Location: { schema: { type: 'string' } }, ETag: { schema: { type: 'string' } } },
        content: jsonContentOf(row.reply!, 'output', {}),
      },
    },
    problems: [400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 429, 503],
  });
