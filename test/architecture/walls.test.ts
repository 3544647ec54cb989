import { dirname } from 'node:path';
import ts from 'typescript-5';
import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { filesOf, textOf } from './source-files.ts';

const MAX_FILES = 25;
const MAX_FUNCTION_LINES = 60;
const MAX_PARAMETERS = 4;
/** The limit for a type whose members are mostly functions. Each implementation needs all of them. */
const MAX_PORT_MEMBERS = 8;

type Excess = Readonly<Record<string, number>>;

/**
 * What is larger than its limit. The lists may only shrink: a test fails if an entry is larger than stated here, and if it is smaller,
 * so that the entry is lowered or removed.
 */
const LARGE_FOLDERS: Excess = {
  'api/console/parts': 66,
  'api/http': 43,
  'api/console': 41,
  'api/console/forms': 41,
  'infra/projector': 38,
  'infra/runner': 36,
  'projections/deliveries': 34,
  domain: 28,
  'infra/processes': 27,
};
const LONG_FUNCTIONS: Excess = {
  'infra/spool/spool-storage.ts openSpoolStorage': 146,
  'infra/runner/api-client.ts apiClient': 139,
  'infra/blobs/blob-bucket.ts openBlobBucket': 131,
  'infra/guardrails/rules-client.ts createRulesClient': 122,
  'infra/runner/message-consumer.ts messageConsumer': 107,
  'infra/blobs/s3-client.ts createS3Client': 91,
  'api/deliveries/replay.ts replayOperationsOf': 84,
  'api/audit/change-watch.ts createChangeWatch': 84,
  'infra/oauth/oauth-clients.ts createOAuthClients': 84,
  'api/memory/memory.ts memoryOperationsOf': 80,
  'api/mail/mailbox.ts mailboxOperationsOf': 76,
  'api/mail/message.ts messageOperationsOf': 76,
  'infra/ratelimit/sliding-windows.ts createSlidingWindows': 76,
  'infra/projector/erased-tenants.ts openErasedTenants': 73,
  'domain/tenants/tenant.ts applyEvent': 72,
  'infra/benchmarks/benchmark-runs.ts openRuns': 72,
  'infra/mail/smtp-receiver.ts startSmtpReceiver': 71,
  'api/deliveries/delivery-summary-operations.ts deliverySummaryOperationsOf': 70,
  'infra/egress/guarded-client.ts createGuardedClient': 70,
  'infra/spool/spool-file.ts openSpoolFile': 69,
  'api/operations/projection-admin.ts rebuildOperations': 67,
  'infra/platform/application.ts createApplication': 67,
  'infra/eventstore/subscription.ts runSubscription': 67,
  'commands/identity/authenticate-api-key.ts createApiKeyAuthenticator': 66,
  'infra/refusals/batched-writer.ts batchedWriter': 66,
  'api/agents/console/agent-settings.ts view': 63,
  'infra/spool/open-spool.ts openSpool': 63,
  'infra/aggregates/request-context.ts createAggregateAccess': 63,
  'api/marketplace/listing.ts marketplaceOperationsOf': 62,
  'infra/eventstore/client.ts openLog': 62,
  'infra/deliveries/redelivery-comparison.ts createRedeliveryComparison': 62,
  'infra/eventstore/embedded/log/preallocation.ts createPreallocation': 61,
  'infra/aggregates/transact.ts createTransact': 61,
};
const MANY_PARAMETERS: Excess = {
  'commands/schedule/message-agents.reactor.ts record': 5,
  'projections/deliveries/delivery-list.queries.ts deliveryPage': 5,
  'projections/audit/audit-names.ts namedSubjects': 5,
  'api/operations/text-docs.ts fieldRow': 5,
  'api/console/action.ts formLink': 5,
  'api/console/action.ts actionButton': 5,
  'infra/http/parse-form.ts parseForm': 5,
};
const LARGE_PORTS: Excess = {
  'commands/context.ts Ctx': 18,
  'api/console/parts/data-table.ts DataTable': 13,
  'api/console/page.ts PageOf': 12,
  'infra/projector/projection-writer.ts ProjectionWriter': 12,
  'api/http/runtime.ts Runtime': 11,
  'infra/runner/runner-session.ts RunnerSession': 11,
  'projections/engine/compiled-projection.ts CompiledTable': 10,
  'api/operations/projection-admin.ts ProjectionAdmin': 10,
  'infra/spool/open-spool.ts Spool': 10,
  'infra/projector/event-processor.ts EventProcessor': 9,
  'infra/eventstore/event-log.ts Log': 9,
  'infra/eventstore/embedded/grpc.ts Call': 9,
  'infra/blobs/blob-backend.ts BlobBackend': 9,
};

const files = ['domain', 'commands', 'projections', 'api', 'infra'].flatMap(filesOf);

const filesPerFolder = (): Excess => {
  const counts: Record<string, number> = {};
  for (const folder of files.map(dirname)) counts[folder] = (counts[folder] ?? 0) + 1;
  return counts;
};

const lines: Record<string, number> = {};
const parameters: Record<string, number> = {};
const members: Record<string, number> = {};

const nameOf = (node: ts.Node): string | undefined =>
  (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) || ts.isFunctionDeclaration(node)) &&
  node.name &&
  ts.isIdentifier(node.name)
    ? node.name.text
    : undefined;

const keepLargest = (counts: Record<string, number>, name: string, count: number): void => {
  counts[name] = Math.max(counts[name] ?? 0, count);
};

const measure = (source: ts.SourceFile, node: ts.Node, owner: string): void => {
  const name = nameOf(node) ?? owner;
  const place = `${source.fileName} ${name}`;
  if (ts.isFunctionLike(node) && 'body' in node && node.body) {
    const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
    keepLargest(lines, place, lineAt(node.end) - lineAt(node.getStart(source)) + 1);
    keepLargest(parameters, place, node.parameters.length);
  }
  if (ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type)) {
    const all = node.type.members;
    const functions = all.filter((member) => ts.isPropertySignature(member) && member.type && ts.isFunctionTypeNode(member.type));
    if (functions.length >= all.length / 2) keepLargest(members, `${source.fileName} ${node.name.text}`, all.length);
  }
  ts.forEachChild(node, (child) => measure(source, child, name));
};

for (const file of files.filter((each) => each.endsWith('.ts'))) {
  const source = ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest);
  measure(source, source, '');
}

const above = (counts: Excess, limit: number): Excess => Object.fromEntries(Object.entries(counts).filter(([, count]) => count > limit));

test(`a folder has at most ${MAX_FILES} files`, () => equal(above(filesPerFolder(), MAX_FILES), LARGE_FOLDERS));

test(`a function has at most ${MAX_FUNCTION_LINES} lines`, () => equal(above(lines, MAX_FUNCTION_LINES), LONG_FUNCTIONS));

test(`a function has at most ${MAX_PARAMETERS} parameters`, () => equal(above(parameters, MAX_PARAMETERS), MANY_PARAMETERS));

test(`a type of functions has at most ${MAX_PORT_MEMBERS} members`, () => equal(above(members, MAX_PORT_MEMBERS), LARGE_PORTS));

test.run();
