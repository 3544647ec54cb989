/** A button that copies the text in `data-text`. After that, it shows a confirmation for a moment. */
class CopyButton extends HTMLElement {
  connectedCallback() {
    this.hidden = false;
    this.addEventListener('click', async () => {
      await navigator.clipboard.writeText(this.dataset.text ?? '');
      this.dataset.copied = '';
      setTimeout(() => delete this.dataset.copied, 1_500);
    });
  }
}

customElements.define('copy-button', CopyButton);
