;; emacs --batch -l eglot.el train.py
;; MESHLENS_INIT is what a user has in the init file.  Reports JSON lines; exits with 1 at the first surprise.
(require 'package)
(package-initialize)
(load (getenv "MESHLENS_INIT"))
(require 'flymake)
(require 'json)
(require 'python)

(setq eglot-sync-connect 20
      eglot-confirm-server-initiated-edits nil
      make-backup-files nil
      create-lockfiles nil)

(defun say (key value)
  (princ (concat (json-encode (list (cons key value))) "\n")))

(defun until (what test)
  (let ((end (+ (float-time) 20)))
    (while (and (not (funcall test)) (< (float-time) end))
      (accept-process-output nil 0.05))
    (or (funcall test) (error "%s" what))))

(defun put-cursor (needle shift)
  (goto-char (point-min))
  (search-forward needle)
  (goto-char (+ (match-beginning 0) shift)))

(defun ask (method)
  (jsonrpc-request (eglot--current-server-or-lose) method (eglot--TextDocumentPositionParams)))

(defun send-changes ()
  "What eglot sends from an idle timer, which never fires in batch."
  (eglot--signal-textDocument/didChange))

(condition-case problem
    (progn
      (find-file (pop command-line-args-left))
      (python-mode)
      (apply #'eglot (eglot--guess-contact))
      (say "version" emacs-version)
      (flymake-start)
      (until "no diagnostics" #'flymake-diagnostics)
      (let ((found (car (flymake-diagnostics))))
        (say "diagnostic" (buffer-substring-no-properties (flymake-diagnostic-beg found) (flymake-diagnostic-end found)))
        (say "message" (flymake-diagnostic-text found)))
      (put-cursor "pmean" 1)
      (say "hover" (plist-get (plist-get (ask :textDocument/hover) :contents) :value))
      (put-cursor "bacth" 0)
      (say "completion" (plist-get (aref (plist-get (ask :textDocument/completion) :items) 0) :label))
      (put-cursor "\"batch\"" 2)
      (call-interactively #'xref-find-definitions)
      (say "definition" (buffer-substring-no-properties (line-beginning-position) (line-end-position)))

      ;; The real command; its menu is answered here.  Without a last event that is no mouse event it wants a mouse menu.
      (put-cursor "bacth" 2)
      (cl-letf (((symbol-function 'completing-read)
                 (lambda (_prompt choices &rest _) (car (all-completions "" choices))))
                (last-nonmenu-event ?a))
        (eglot-code-actions (point) (point) nil t))
      (until "the action changed nothing"
             (lambda () (save-excursion (goto-char (point-min)) (not (search-forward "bacth" nil t)))))
      (send-changes)
      (until "the finding stayed" (lambda () (null (flymake-diagnostics))))
      (say "fixed" (buffer-string))

      (put-cursor "pmean(x, \"batch\"" 11)
      (cl-letf (((symbol-function 'y-or-n-p) (lambda (&rest _) t)))
        (eglot-rename "rows"))
      (say "renamed" (buffer-string))
      (say "names" (with-current-buffer (find-file-noselect "names.py") (buffer-string)))
      (dolist (buffer (buffer-list))
        (with-current-buffer buffer (set-buffer-modified-p nil)))
      (eglot-shutdown (eglot-current-server))
      (say "pass" t))
  (error
   (princ (format "%S\n" problem) #'external-debugging-output)
   (kill-emacs 1)))
