import type { Context } from 'hono';
import type { CodeHost } from '../commands/agents/code-host.ts';
import type { DatasetHost } from '../commands/benchmarks/dataset-location.ts';
import type { PaymentProvider } from '../commands/billing/payment-provider.ts';
import type { TestDatabase } from '../commands/credentials/database-credential.ts';
import type { OAuthClients } from '../commands/credentials/oauth-clients.ts';
import type { ReadDelivery } from '../commands/deliveries/delivery.ts';
import type { ReadPreviews } from '../commands/deliveries/delivery-preview.ts';
import type { ReleasePorts } from '../commands/deliveries/release.ts';
import type { WebhookPorts } from '../commands/deliveries/webhook-ports.ts';
import type { ScanPorts } from '../commands/files/scan-file.ts';
import type { EvaluateTrial } from '../commands/guardrails/try-guardrails.ts';
import type { MailSettings } from '../commands/mail/send-mail.ts';
import type { FileHost } from '../commands/memory/import-memory.ts';
import type { RecordMemoryRead } from '../commands/memory/memory-reads.ts';
import type { RecordAttempt } from '../commands/runners/report-attempt.ts';
import type { RunnerBroker } from '../commands/runners/runner-broker.ts';
import type { CreateBrokerUser } from '../commands/runners/runner-credential.ts';
import type { Drafts } from '../commands/sessions/draft.ts';
import type { SkillCallPorts } from '../commands/skill-calls/skill-call-ports.ts';
import type { ImportPorts } from '../commands/skills/import-skill.ts';
import type { PackageFiles } from '../commands/skills/package-files.ts';
import type { ErasurePorts } from '../commands/tenants/erase-tenant.ts';
import type { ChangeStreams } from './audit/tenant-changes.ts';
import type { PictureDeps } from './files/picture.ts';
import type { Operations } from './http/operation.ts';
import type { PlainPaths, PlainRoutes } from './http/plain-route.ts';
import type { Runtime } from './http/runtime.ts';
import type { UploadDeps } from './http/upload-route.ts';
import type { DirectSignInDeps } from './identity/direct-sign-in.ts';
import type { SignInDeps } from './identity/sign-in.ts';
import type { MailAttachmentDeps } from './mail/attachment.ts';
import type { ReadHealth } from './operations/health.ts';
import type { ProjectionAdmin } from './operations/projection-admin.ts';
import type { SystemDeps } from './operations/system-routes.ts';

/** What operations need from infra/, in addition to their context. */
export type OperationServices = ImportPorts & {
  readonly codeHost: CodeHost;
  readonly datasets: DatasetHost;
  /** The payment provider; null if this installation takes no payments. */
  readonly payments: PaymentProvider | null;
  readonly testDatabase: TestDatabase;
  readonly oauth: OAuthClients;
  readonly publicUrl: string;
  readonly erasure: ErasurePorts;
  readonly createBrokerUser: CreateBrokerUser;
  readonly runnerBroker: RunnerBroker;
  readonly drafts: Drafts;
  readonly readDelivery: ReadDelivery;
  readonly readPreviews: ReadPreviews;
  readonly evaluateTrial: EvaluateTrial;
  readonly deliveries: WebhookPorts;
  readonly releases: ReleasePorts;
  readonly projectionAdmin: ProjectionAdmin;
  readonly readHealth: ReadHealth;
  readonly mail: MailSettings;
  readonly recordMemoryRead: RecordMemoryRead;
  readonly packageFiles: PackageFiles;
  readonly recordAttempt: RecordAttempt;
};

/** What plain routes need from infra/. */
export type RouteServices = Pick<OperationServices, 'deliveries' | 'drafts' | 'oauth' | 'publicUrl' | 'readDelivery'> &
  ImportPorts &
  ScanPorts &
  UploadDeps &
  SystemDeps &
  SignInDeps &
  DirectSignInDeps &
  Pick<PictureDeps, 'encodePicture'> &
  Pick<MailAttachmentDeps, 'createTypeDetector'> & {
    readonly runtime: Runtime;
    readonly changeStreams: ChangeStreams;
    readonly skillCalls: SkillCallPorts;
    readonly files: FileHost;
    /** The secrets with which the payment provider signs its webhook calls. */
    readonly paymentSecrets: readonly string[];
    readonly address: (c: Context) => string | null;
  };

export type Needs<Name extends keyof OperationServices> = Pick<OperationServices, Name>;

/** What the API offers for one subject: operations, and routes that are not operations. */
export type Area = {
  /** The heading in the OpenAPI document. */
  readonly title: string;
  /** What the heading is about; absent if another area with the same heading says it, or if there are no operations. */
  readonly description?: string;
  readonly operations: (services: OperationServices) => Operations;
  readonly plainRoutes: readonly { readonly paths: PlainPaths; readonly mount: PlainRoutes<RouteServices>['mount'] }[];
};
