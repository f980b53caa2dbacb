/*
 * Browsers start no worker from a file. Where the site is read from a disk, its search runs in a frame instead, which
 * for the theme looks like a worker. (mkdocs-material would load a script of this name from another host.)
 */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = inside.document.createElement("script")
      script.src = url
      this.ready = new Promise(loaded => script.addEventListener("load", loaded))
      inside.document.head.append(script)
    }

    async postMessage(data) {
      await this.ready
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
