import { mountPlainRoutes, operationsOf, plainPaths } from '../../api/areas.ts';
import { createChangeStreams } from '../../api/audit/tenant-changes.ts';
import { openapi } from '../../api/http/openapi.ts';
import { asyncapi } from '../../api/runners/asyncapi.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { hasHeldOver } from '../../projections/deliveries/held-delivery.queries.ts';
import { createPackageFiles } from '../archives/list-package-files.ts';
import { parseYaml } from '../archives/parse-yaml.ts';
import { unpackZip } from '../archives/unpack-zip.ts';
import { createTypeDetector } from '../blobs/detect-content-type.ts';
import { createDeliveryPreviews } from '../deliveries/delivery-previews.ts';
import { readDelivery as createDeliveryReader } from '../deliveries/read-delivery.ts';
import { releasePorts } from '../deliveries/release-ports.ts';
import { webhookPorts } from '../deliveries/webhook-ports.ts';
import { erasurePorts } from '../erasure/erasure-ports.ts';
import { encodePicture } from '../files/encode-picture.ts';
import { createThreatScan } from '../files/scan-thread.ts';
import { createRuleEvaluator } from '../guardrails/rule-evaluator.ts';
import { lazyDocsScript } from '../http/docs-script.ts';
import { parseForm } from '../http/parse-form.ts';
import { createUploadSlots } from '../http/upload-slots.ts';
import { skillCallPorts } from '../skill-calls/skill-call-ports.ts';
import { createApplication } from './application.ts';
import { createAttemptRecorder } from './attempt-recorder.ts';
import { createMemoryReadRecorder } from './memory-read-recorder.ts';
import type { PlatformServices } from './platform-services.ts';

/** The time limit in milliseconds for a trial run of rules on a past delivery. */
const TRIAL_TIME_LIMIT_MS = 250;
const { version } = packageJson;

const createDeliveryPath = (services: PlatformServices) => {
  const { log, vault, cache, reads, logger, limits, windows, spool, now = Date.now, onDelivery } = services;
  const readDelivery = createDeliveryReader({ log, vault, logger });
  const previews = createDeliveryPreviews({ readDelivery, vault });
  const deliveries = webhookPorts({
    ...{ log, vault, cache, logger, limits, spool, previews, count: onDelivery, ...(windows && { windows }) },
    hasHeld: hasHeldOver(reads),
    now: () => new Date(now()).toISOString(),
  });
  return { readDelivery, readPreviews: previews.read, deliveries };
};

const uploadServices = (logger: PlatformServices['logger']) => ({
  unpack: unpackZip,
  parseYaml,
  parseForm,
  withSlot: createUploadSlots(),
  createTypeDetector,
  encodePicture,
  findThreats: createThreatScan({ logger }),
});

/**
 * `deliveries` receives signed deliveries. In a `systemContext`, the platform is the actor. `endStreams` ends responses that have no end of
 * their own; call it before the server is closed. `recordPending` records the refusals and memory reads that are still in memory; `close`
 * does so, too, and closes what was opened here, but none of the services.
 */
export const createPlatform = (services: PlatformServices) => {
  const { log, vault, cache, logger, publicUrl, now = Date.now } = services;
  const { readDelivery, readPreviews, deliveries } = createDeliveryPath(services);
  const trials = createRuleEvaluator({ logger, timeLimitMs: TRIAL_TIME_LIMIT_MS });
  const memoryReads = createMemoryReadRecorder({ logger, now });
  const skillCalls = skillCallPorts({ log, vault, cache, logger, deliveries });
  const changeStreams = createChangeStreams();
  const all = {
    ...services,
    ...services.reportOn(deliveries.isFailing),
    ...uploadServices(logger),
    readDelivery,
    readPreviews,
    deliveries,
    releases: releasePorts({ log, vault, cache, readDelivery, guardrails: deliveries.guardrails }),
    skillCalls,
    changeStreams,
    evaluateTrial: trials.evaluate,
    recordMemoryRead: memoryReads.record,
    packageFiles: createPackageFiles({
      report: (err) => logger.error({ err }, 'the files of the archive of a skill could not be listed'),
    }),
    recordAttempt: createAttemptRecorder({ log, now }),
    erasure: erasurePorts({ log, vault, now }),
  };
  const operations = operationsOf(all);
  let document: unknown;
  const documents = {
    openapi: () => (document ??= openapi(operations, plainPaths, publicUrl)),
    asyncapi: () => asyncapi({ publicUrl, version }),
    docsScript: lazyDocsScript(),
  };
  const application = createApplication({
    ...services,
    operations,
    mountPlain: (app, ofApplication) => mountPlainRoutes(app, { ...all, ...documents, ...ofApplication }),
  });
  const recordPending = async (): Promise<void> => {
    await skillCalls.close();
    await memoryReads.recordAll();
    await application.close();
  };
  return {
    app: application.app,
    runtime: application.runtime,
    systemContext: application.systemContext,
    operations,
    deliveries,
    recordPending,
    endStreams: changeStreams.close,
    close: async (): Promise<void> => {
      changeStreams.close();
      await deliveries.close();
      await trials.close();
      await memoryReads.close();
      await recordPending();
    },
  };
};
