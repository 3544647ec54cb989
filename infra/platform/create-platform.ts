import { mountAuditExport } from '../../api/audit/audit-export.ts';
import { type ChangeStreams, mountTenantChanges } from '../../api/audit/tenant-changes.ts';
import { mountPaymentWebhook } from '../../api/billing/payment-webhook.ts';
import { mountOAuthCallback } from '../../api/credentials/oauth-callback.ts';
import { openapi } from '../../api/http/openapi.ts';
import { mountSystemRoutes } from '../../api/operations/system-routes.ts';
import { plainPaths } from '../../api/plain-routes.ts';
import { operationsOf } from '../../api/routes.ts';
import { asyncapi } from '../../api/runners/asyncapi.ts';
import { mountDeliveryBodies } from '../../api/webhooks/delivery.ts';
import { mountInboundWebhook } from '../../api/webhooks/inbound-webhook.ts';
import { mountSkillCalls } from '../../api/webhooks/skill-call.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { parseYaml } from '../archives/parse-yaml.ts';
import { unpackZip } from '../archives/unpack-zip.ts';
import { erasurePorts } from '../erasure/erasure-ports.ts';
import { createRuleEvaluator } from '../guardrails/rule-evaluator.ts';
import { lazyDocsScript } from '../http/docs-script.ts';
import { countDeliveries } from '../webhooks/count-deliveries.ts';
import { createDeliveryPreviews } from '../webhooks/delivery-previews.ts';
import { readDelivery } from '../webhooks/read-delivery.ts';
import { skillCallPorts } from '../webhooks/skill-call-ports.ts';
import { webhookPorts } from '../webhooks/webhook-ports.ts';
import { createApplication } from './application.ts';
import type { PlatformServices } from './platform-services.ts';
import { mountUploadRoutes } from './upload-routes.ts';

/** The time limit in milliseconds for a trial run of rules on a past delivery. */
const TRIAL_TIME_LIMIT_MS = 250;
const { version } = packageJson;

/** Creates what receives deliveries, and what reads them and their previews. */
const createDeliveryPath = (services: PlatformServices) => {
  const { log, vault, cache, logger, limits, windows, spool, now = Date.now, onDelivery } = services;
  const stored = readDelivery({ log, vault, logger });
  const previews = createDeliveryPreviews({ readDelivery: stored, vault });
  const ports = previews.keepNew(
    webhookPorts({ log, vault, cache, logger, limits, ...(windows && { windows }), spool, now: () => new Date(now()).toISOString() }),
  );
  return { stored, readPreviews: previews.read, deliveries: onDelivery ? countDeliveries(ports, onDelivery) : ports };
};

/**
 * Creates the HTTP side of the platform: all operations and all routes, over the services that it is given. `deliveries`
 * receives signed deliveries. `systemContext` creates a context in which the platform itself is the actor.
 * `endStreams` ends the responses that have no end of their own, and must be called before the server is closed.
 * `recordRefusals` records the refusals that are still in memory. `close` does so, too, and closes everything that was
 * opened here, but none of the services.
 */
export const createPlatform = (services: PlatformServices) => {
  const { log, vault, cache, logger, publicUrl, address, oauth, paymentSecrets, files, findVirus, now = Date.now } = services;
  const { stored, readPreviews, deliveries } = createDeliveryPath(services);
  const trials = createRuleEvaluator({ logger, timeLimitMs: TRIAL_TIME_LIMIT_MS });
  const { readHealth, ...system } = services.reportOn(deliveries.isFailing);
  const operations = operationsOf({
    ...services,
    importPorts: { unpack: unpackZip, parseYaml },
    erasure: erasurePorts({ log, vault, now }),
    storedDelivery: stored,
    readPreviews,
    evaluateTrial: trials.evaluate,
    webhookPorts: deliveries,
    readHealth,
  });
  const skillCalls = skillCallPorts({ log, vault, cache, logger, deliveries });
  let document: unknown;
  let changeStreams: ChangeStreams | undefined;
  const application = createApplication({
    ...services,
    operations,
    plainRoutes: (app, runtime, attempt) => {
      mountInboundWebhook(app, { ports: deliveries, address, publicUrl });
      mountSkillCalls(app, { ports: skillCalls, address });
      mountDeliveryBodies(app, runtime, stored);
      mountAuditExport(app, runtime);
      changeStreams = mountTenantChanges(app, runtime);
      mountOAuthCallback(app, runtime, { oauth, publicUrl, attempt });
      mountPaymentWebhook(app, runtime, { secrets: paymentSecrets });
      mountUploadRoutes(app, runtime, { files, findVirus, logger });
      mountSystemRoutes(app, {
        ...system,
        openapi: () => (document ??= openapi(operations, plainPaths, publicUrl)),
        asyncapi: () => asyncapi({ publicUrl, version }),
        docsScript: lazyDocsScript(),
      });
    },
  });
  const recordRefusals = async (): Promise<void> => {
    await skillCalls.close();
    await application.close();
  };
  return {
    app: application.app,
    runtime: application.runtime,
    systemContext: application.systemContext,
    operations,
    deliveries,
    recordRefusals,
    endStreams: (): void => changeStreams?.close(),
    close: async (): Promise<void> => {
      changeStreams?.close();
      await skillCalls.close();
      await deliveries.close();
      await trials.close();
      await application.close();
    },
  };
};
