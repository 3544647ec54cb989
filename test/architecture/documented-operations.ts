import { afterLastTest } from '../fixtures/after-last-test.ts';
import type { Schema, Schemas } from '../fixtures/json-schema.ts';
import { openapiDocument } from '../fixtures/openapi-document.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Parameter = { name: string; in: string; required: boolean; schema: Schema; $ref?: string };
type Body = { content: Record<string, { schema: Schema; example?: unknown }> };
export type Described = {
  operationId: string;
  description: string;
  parameters: Parameter[];
  requestBody?: Body;
  responses: Record<string, { content?: Body['content']; headers?: Record<string, unknown> }>;
};
export type Document = { paths: Record<string, Record<string, Described>>; components: { schemas: Schemas } & Record<string, object> };

/** Starts a platform, which stops after the last test. Returns it with the operations in its OpenAPI document. */
export const startDocumented = async () => {
  const p = await createTestPlatform();
  afterLastTest(() => p.close());
  const document = openapiDocument<Document>();
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  return { p, document, schemas: document.components.schemas, described };
};
