import type { SmtpReceiver } from '../mail/smtp-receiver.ts';
import type { ProcessMetrics } from './process-metrics.ts';

export const addMailMetrics = (metrics: Pick<ProcessMetrics, 'addGroup'>, status: SmtpReceiver['status']): void =>
  metrics.addGroup({
    help: {
      annals_smtp_connections: 'Open connections of SMTP',
      annals_smtp_refused_total: 'Connections of SMTP that were refused, because their address had as many as it may have',
      annals_smtp_expired_total: 'Connections of SMTP that were ended, because the client started no message in time or sent it too slowly',
      annals_smtp_buffered_bytes: 'Received messages in memory that are not recorded yet, in bytes',
      annals_smtp_largest_tenant_bytes: 'Those of the tenant with most of them, in bytes',
    },
    read: () => {
      const { open, refused, expired, memory } = status();
      return [
        {
          labels: {},
          values: {
            annals_smtp_connections: open,
            annals_smtp_refused_total: refused,
            annals_smtp_expired_total: expired,
            annals_smtp_buffered_bytes: memory.bytes,
            annals_smtp_largest_tenant_bytes: memory.largest,
          },
        },
      ];
    },
  });
