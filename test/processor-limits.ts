/** The processor time in seconds that a file of the ring `quick` may use, without importing modules. */
export const USUAL_LIMIT = 2;

/** How much a file may use, and why that is more than usual. */
export type Exception = { readonly seconds: number; readonly why: string };

/**
 * The files that may use more. test/architecture/processor-limits.test.ts makes sure that this list does not grow. A file
 * that is `not examined yet` may be slower than necessary.
 */
export const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  'test/access/tenant-isolation-probes.api.test.ts': { seconds: 20, why: 'sends wrong ids to every operation as every caller' },
  'test/agents/code-ref.api.test.ts': { seconds: 3, why: 'not examined yet' },
  'test/architecture/openapi-requests.test.ts': { seconds: 6, why: 'not examined yet' },
  'test/archives/unpack-zip.test.ts': { seconds: 4, why: 'unpacks hostile archives' },
  'test/audit/event-leaves.contract.test.ts': { seconds: 3, why: 'stores, projects and rebuilds an event of every type' },
  'test/audit/leaf-rule.api.test.ts': { seconds: 3, why: 'proves, exports and verifies an event of every type' },
  'test/audit/tenant-export.api.test.ts': { seconds: 6, why: 'verifies an export with each of many random changes' },
  'test/audit/verify-audit-export.test.ts': { seconds: 4, why: 'not examined yet' },
  'test/cli/systemd-unit.test.ts': { seconds: 3, why: 'not examined yet' },
  'test/console/console-projections.api.test.ts': { seconds: 3, why: 'rebuilds projections' },
  'test/console/hostile-pages.api.test.ts': { seconds: 3, why: 'sends hostile texts to every operation and renders every page' },
  'test/console/links.api.test.ts': { seconds: 7, why: 'opens every kind of page as five visitors' },
  'test/files/file-scan.api.test.ts': { seconds: 3, why: 'not examined yet' },
  'test/guardrails/rule-evaluator.test.ts': { seconds: 6, why: 'evaluates rules until they exceed the time limit' },
  'test/http/boundaries-body.api.test.ts': { seconds: 3, why: 'not examined yet' },
  'test/http/declared-projections.api.test.ts': { seconds: 7, why: 'not examined yet' },
  'test/http/paging-folded-lists.api.test.ts': { seconds: 4, why: 'not examined yet' },
  'test/http/paging-page-size.api.test.ts': { seconds: 3, why: 'reads pages of very large resources' },
  'test/http/response-headers.api.test.ts': { seconds: 5, why: 'requests every route as three callers' },
  'test/http/sql-injection.api.test.ts': { seconds: 3, why: 'not examined yet' },
  'test/http/typed-client.api.test.ts': { seconds: 9, why: 'runs openapi-typescript, Redocly and a compiler' },
  'test/identity/browser-sign-in.api.test.ts': { seconds: 4, why: 'not examined yet' },
  'test/identity/sign-in.api.test.ts': { seconds: 5, why: 'not examined yet' },
  'test/live/platform.smoke.test.ts': { seconds: 9, why: 'starts the whole platform' },
  'test/memory/import-load.api.test.ts': { seconds: 9, why: 'sends 60 imports of 25 MiB' },
  'test/memory/import-memory.api.test.ts': { seconds: 6, why: 'imports a text of 25 MiB' },
  'test/memory/memory-list.api.test.ts': { seconds: 3, why: 'imports 12,000 entries' },
  'test/projector/rebuild.contract.test.ts': { seconds: 3, why: 'rebuilds projections' },
  'test/sessions/attachment.api.test.ts': { seconds: 3, why: 'uploads an attachment of 25 MiB' },
  'test/skills/skill-import.api.test.ts': { seconds: 3, why: 'imports an archive of 10 MiB' },
  'test/test-process.test.ts': { seconds: 3, why: 'starts test processes and waits for their ends' },
  'test/bodies/body-limits.api.test.ts': { seconds: 6, why: 'sends bodies of 25 MiB' },
  'test/bodies/large-body.api.test.ts': { seconds: 9, why: 'stores many bodies of several megabytes' },
  'test/guardrails/try-guardrails.api.test.ts': { seconds: 3, why: 'evaluates rules until they exceed the time limit' },
};

export const processorLimitOf = (file: string): number => EXCEPTIONS[file]?.seconds ?? USUAL_LIMIT;
