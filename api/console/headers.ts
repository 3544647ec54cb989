/** The features of browsers that no page of the console uses. The only feature that pages use is to copy a text. */
export const FORBIDDEN_FEATURES: readonly string[] = [
  'accelerometer', 'autoplay', 'browsing-topics', 'camera', 'clipboard-read', 'compute-pressure', 'cross-origin-isolated',
  'digital-credentials-get', 'display-capture', 'encrypted-media', 'fullscreen', 'gamepad', 'geolocation', 'gyroscope', 'hid',
  'identity-credentials-get', 'idle-detection', 'keyboard-map', 'local-fonts', 'magnetometer', 'microphone', 'midi', 'otp-credentials',
  'payment', 'picture-in-picture', 'publickey-credentials-create', 'publickey-credentials-get', 'screen-wake-lock', 'serial',
  'storage-access', 'sync-xhr', 'usb', 'window-management', 'xr-spatial-tracking',
]; // biome-ignore format: a list of names

/**
 * The headers of every console page. Pages whose URL or content has a secret replace the policy of the referrer by
 * `no-referrer`; the others send it to this site only, so that a page of a problem can lead back. They forbid content from other hosts, and inline scripts and styles.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'permissions-policy': [...FORBIDDEN_FEATURES.map((name) => `${name}=()`), 'clipboard-write=(self)'].join(', '),
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};
